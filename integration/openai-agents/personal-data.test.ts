// What deletes a person's data: see docs/personal-data.md.
import * as agents from "@openai/agents";
import { ForkpointRunStates, ForkpointSession } from "forkpoint/openai-agents";
import { forgets } from "../../__test__/personal-data.js";
import { call, user } from "./helpers.js";

/** A store, and the session of each person in it. */
function sessions(target: string, options: object) {
  const store = new ForkpointSession(target, { ...options, sessionId: "of nobody", agents });
  return {
    of: (sessionId: string) => new ForkpointSession(target, { ...options, sessionId, agents }),
    vacuum: () => store.vacuum(),
    close: () => store.close(),
  };
}

forgets("OpenAI Agents SDK, sessions", "clearSession()", {
  open: sessions,
  async store(store, person) {
    await using session = store.of(person);
    const mail = `My mail is ${person}@example.com.`;
    await session.addItems([user(mail), call(`c-${person}`, { arguments: mail })]);
    const items = [user(`And ${mail}`)];
    await session.applyHistoryTransaction({ operationId: person, transaction: { type: "append_items", items } });
  },
  async remove(store, person) {
    await using session = store.of(person);
    await session.clearSession();
  },
});

forgets("OpenAI Agents SDK, run states", "delete(runId)", {
  open: (target, options) => new ForkpointRunStates(target, options),
  async store(states, person) {
    for (const n of [1, 2])
      await states.save(person, `{"n":${n},"mail":"${person}@example.com"}`, { sessionId: person });
    const { text } = await states.take(person);
    await states.release(person, text);
  },
  remove: (states, person) => states.delete(person),
});
