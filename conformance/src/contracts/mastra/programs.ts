// What runs in other processes.
import type { Program } from "../../suite/types.js";
import { finish, persist, snapshot, step } from "./helpers.js";
import type { Store } from "./store.js";

/** A text of 20 KB that belongs to a number. */
export const filler = (n: number) => `${n}.`.repeat(20_000).slice(0, 20_000);

/** The snapshot number `n`: each part of it has its number. */
export const numbered = (runId: string, n: number) =>
  snapshot({
    runId,
    value: { n: `${n}` },
    context: { input: { n }, a: step({ n, text: filler(n) }), b: step({ n }) },
    requestContext: { n },
  });

export const programs: Record<string, Program<Store>> = {
  /** Calls methods one after the other, and returns their results. */
  async call({ store, input }) {
    const results = [];
    for (const [method, ...args] of input) results.push(await (store as any)[method](...args));
    return results;
  },

  /** Calls methods when it is told them, and says their results. */
  async serve({ store, say, told }) {
    await say("ready");
    for (;;) {
      const [method, ...args] = await told();
      await say(await (store as any)[method](...args));
    }
  },

  /** Persists a run again and again, and says the number of each snapshot that is stored. */
  async persistMany({ store, input, say }) {
    for (let n = 0; ; n++) {
      await persist(store, { runId: input, snapshot: numbered(input, n) });
      await say(n);
    }
  },

  /** Stores results of steps of the run `r`, and says the number of each that is stored. */
  async finishMany({ store, say }) {
    await persist(store);
    for (let n = 0; ; n++) {
      await finish(store, `s${n}`, step(n), { [`s${n}`]: n });
      await say(n);
    }
  },

  /** Persists runs, then deletes them, and says the number of each that is deleted. */
  async deleteMany({ store, input, say }) {
    for (let n = 0; n < input; n++) await persist(store, { runId: `r${n}` });
    for (let n = 0; n < input; n++) {
      await store.deleteWorkflowRunById({ workflowName: "w", runId: `r${n}` });
      await say(n);
    }
    await new Promise(() => setInterval(() => {}, 1_000));
  },

  /** Makes calls at the same time when it is told to begin, and returns which of them have returned something. */
  async race({ store, input, say, told }) {
    await say("ready");
    await told();
    const made = await Promise.all(
      input.map(([method, ...args]: [string, unknown]) => (store as any)[method](...args)),
    );
    return made.map((result: unknown) => result !== undefined);
  },
};
