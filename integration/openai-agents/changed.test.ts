// A caller may change its arguments as soon as a call has returned its promise. `__test__/changed.test.ts` tests the same
// for other frameworks.
import { type Store, openStore } from "forkpoint";
import { ForkpointRunStates, ForkpointSession } from "forkpoint/openai-agents";
import { describe, it } from "vitest";
import { type Call, KEPT, expectKeptAfter } from "../../__test__/changed.js";
import { closing, kinds, place } from "../../__test__/helpers.js";

const cases: Record<string, (store: Store) => Call | Promise<Call>> = {
  "addItems()": (store) => {
    const session = new ForkpointSession(store, { sessionId: "s" });
    const args = () => [[{ type: "message", role: "user", content: [{ type: "input_text", text: KEPT }] }]];
    // The second call waits for the first.
    const call = (items: any) => Promise.all([session.clearSession(), session.addItems(items)]);
    return { args, call, read: () => session.getItems() };
  },
  "replaceHistoryWithCompaction()": (store) => {
    const session = new ForkpointSession(store, { sessionId: "s" });
    const args = () => [[{ type: "message", role: "user", content: KEPT }]];
    return { args, call: (items) => session.replaceHistoryWithCompaction(items), read: () => session.getItems() };
  },
  "applyHistoryMutations()": async (store) => {
    const session = new ForkpointSession(store, { sessionId: "s" });
    await session.addItems([{ type: "function_call", callId: "c", name: "n", arguments: "{}" } as never]);
    const replacement = () => ({ type: "function_call", callId: "c", name: KEPT, arguments: "{}" });
    const args = () => [{ mutations: [{ type: "replace_function_call", callId: "c", replacement: replacement() }] }];
    return { args, call: (given) => session.applyHistoryMutations(given), read: () => session.getItems() };
  },
  "the options of a state": (store) => {
    const states = new ForkpointRunStates(store);
    return {
      args: () => [{ sessionId: KEPT }],
      call: (options) => states.save("r", "text", options),
      read: () => states.load("r"),
    };
  },
};

describe.each(kinds)("on %s, a caller changes its arguments after", (kind) => {
  it.each(Object.entries(cases))("%s", async (_name, make) => {
    await expectKeptAfter(await make(closing(await openStore(place(kind)))));
  });
});
