// The functional API: the results of tasks are stored, so a resumed entrypoint does not run them again.
import { Command, INTERRUPT, entrypoint, getPreviousState, interrupt, task } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { kinds, rejection, saver, thread } from "./helpers.js";

/** An entrypoint that writes an essay and interrupts for a review, and a record of the calls. */
function essay(checkpointer: BaseCheckpointSaver) {
  const ran: string[] = [];
  const write = task("write", async (topic: string) => {
    ran.push(`write ${topic}`);
    return `an essay about ${topic}`;
  });
  const illustrate = task("illustrate", async (topic: string) => {
    ran.push(`illustrate ${topic}`);
    return new Uint8Array([topic.length, 255]);
  });
  const app = entrypoint({ name: "essay", checkpointer }, async (topic: string) => {
    const [text, picture] = await Promise.all([write(topic), illustrate(topic)]);
    const review = interrupt<{ text: string }, string>({ text });
    return { text, picture, review };
  });
  return { ran, app };
}

describe.each(kinds)("on %s", (kind) => {
  it("resumes without running its tasks again", async () => {
    const { ran, app } = essay(saver(kind));
    const stopped = (await app.invoke("cats", thread())) as unknown as { [INTERRUPT]: Array<{ value: unknown }> };
    expect(stopped[INTERRUPT].map(({ value }) => value)).toEqual([{ text: "an essay about cats" }]);
    expect(ran.toSorted()).toEqual(["illustrate cats", "write cats"]);
    const result = await app.invoke(new Command({ resume: "fine" }), thread());
    expect(result).toEqual({ text: "an essay about cats", picture: new Uint8Array([4, 255]), review: "fine" });
    expect((result as { picture: unknown }).picture).toBeInstanceOf(Uint8Array);
    expect(ran).toHaveLength(2);
  });

  it("repeats the task that failed, and no other", async () => {
    const ran: number[] = [];
    let broken = true;
    const work = task("work", async (n: number) => {
      ran.push(n);
      if (n === 3 && broken) throw new Error("broken");
      return n * 10;
    });
    const app = entrypoint({ name: "all", checkpointer: saver(kind) }, async (numbers: number[]) => {
      const done: number[] = [];
      for (const n of numbers) done.push(await work(n));
      return done;
    });
    await rejection(app.invoke([1, 2, 3, 4], thread()));
    expect(ran).toEqual([1, 2, 3]);
    broken = false;
    expect(await app.invoke(null as never, thread())).toEqual([10, 20, 30, 40]);
    expect(ran).toEqual([1, 2, 3, 3, 4]);
  });

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
