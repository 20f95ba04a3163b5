// Interrupts: questions, their answers, and another answer in a branch.
import { Command, INTERRUPT, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { Log, all, kinds, saver, says, sequence, thread } from "./helpers.js";

type Interrupted = { [INTERRUPT]?: Array<{ id?: string; value?: unknown }> };

/** Returns the values of the interrupts that stopped a run. */
const asked = (result: unknown) => ((result as Interrupted)[INTERRUPT] ?? []).map(({ value }) => value);

describe.each(kinds)("on %s", (kind) => {
  it("keeps its question's and its answer's values whatever they are made of", async () => {
    const seen: unknown[] = [];
    const app = sequence(Log, {
      ask: () => {
        seen.push(interrupt({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) }));
        return { log: ["done"] };
      },
    }).compile({ checkpointer: saver(kind) });
    await app.invoke({ log: [] }, thread());
    const { tasks } = await app.getState(thread());
    expect(tasks[0]!.interrupts[0]!.value).toEqual({ bytes: new Uint8Array([0, 255]), tags: new Set(["é"]) });
    await app.invoke(new Command({ resume: { map: new Map([["k", [1]]]) } }), thread());
    expect(seen).toEqual([{ map: new Map([["k", [1]]]) }]);
  });

  it("an interrupt is answered anew in a branch from before it, whatever the first answer was", async () => {
    const app = sequence(Log, { a: says("a"), ask: () => ({ log: [interrupt<string, string>("well?")] }) }).compile({
      checkpointer: saver(kind),
    });
    await app.invoke({ log: [] }, thread());
    expect((await app.invoke(new Command({ resume: "first" }), thread())).log).toEqual(["a", "first"]);
    const before = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "ask")!;
    expect(asked(await app.invoke(null, before.config))).toEqual(["well?"]);
    expect((await app.invoke(new Command({ resume: "second" }), thread())).log).toEqual(["a", "second"]);
  });
});
