// The functional API: the results of tasks are stored, so a resumed entrypoint does not run them again.
import { Command, INTERRUPT, entrypoint, getPreviousState, interrupt, task } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { kinds, rejection, saver, thread } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("remembers its last result in the thread, or what it was told to save instead", async () => {
    const checkpointer = saver(kind);
    const sum = entrypoint({ name: "sum", checkpointer }, async (n: number) => (getPreviousState<number>() ?? 0) + n);
    expect([await sum.invoke(1, thread()), await sum.invoke(2, thread()), await sum.invoke(3, thread())]).toEqual([
      1, 3, 6,
    ]);
    expect(await sum.invoke(5, thread("another"))).toBe(5);

    const twice = entrypoint({ name: "twice", checkpointer }, async (n: number) => {
      const before = getPreviousState<number>() ?? 0;
      return entrypoint.final({ value: before, save: n * 2 });
    });
    expect(await twice.invoke(1, thread("twice"))).toBe(0);
    expect(await twice.invoke(2, thread("twice"))).toBe(2);
    expect(await twice.invoke(3, thread("twice"))).toBe(4);
  });

  it("a result stays one result, if a run with durability exit stops while it stores its writes", async () => {
    const checkpointer = saver(kind);
    const config = { ...thread(), durability: "exit" as const };
    let broken = true;
    const work = task("work", async () => {
      if (broken) throw new Error("stopped");
      return "done";
    });
    const app = entrypoint({ name: "all", checkpointer }, async () => [await work(), interrupt("fine?")]);
    expect((await rejection(app.invoke("go", config))).message).toBe("stopped");
    broken = false;

    // The task's result is stored. The interrupt is not.
    const whole = checkpointer.putWrites.bind(checkpointer);
    checkpointer.putWrites = (of, writes, taskId) =>
      writes.some(([channel]) => channel === INTERRUPT)
        ? Promise.reject(new Error("cut off"))
        : whole(of, writes, taskId);
    expect((await rejection(app.invoke(null as never, config))).message).toBe("cut off");
    checkpointer.putWrites = whole;

    await app.invoke(null as never, config);
    expect(await app.invoke(new Command({ resume: "yes" }), config)).toEqual(["done", "yes"]);
  });
});
