// The order of pending writes: LangGraph 1.7 passes the path of each task, and expects reads in the order of path, task
// and position. Earlier versions pass no path.
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { checkpoint, kinds, metadata, open, place, saver, thread } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("writes come back by path, task and position, also after a reopen, a copy and a claim", async () => {
    const target = place(kind);
    let on = open(target);
    const config = await on.put(thread(), checkpoint(), metadata(), {});
    const write = (task: string, path: string | undefined, ...channels: string[]) =>
      on.putWrites(
        config,
        channels.map((channel): [string, string] => [channel, `of ${task}`]),
        task,
        path,
      );
    await write("b", undefined, "2", "1");
    await write("d", "~b", "1");
    await write("c", "~a", "1", "2");
    await write("f", "\ue000", "1");
    await write("g", "\u{10000}", "1");
    await write("e", "~a", "1");
    await write("a", "", "1");
    await write("e", "~a", "__error__");
    await write("e", "~a", "1", "more");
    const expected = ["a 1", "b 2", "b 1", "c 1", "c 2", "e __error__", "e 1", "e more", "d 1", "f 1", "g 1"];
    const shown = async (id = "thread") => {
      const { pendingWrites } = (await on.getTuple(thread(id)))!;
      expect(pendingWrites!.every(([task, , value]) => value === `of ${task}`)).toBe(true);
      return pendingWrites!.map(([task, channel]) => `${task} ${channel}`);
    };
    expect(await shown()).toEqual(expected);
    if (kind !== "memory") {
      await on.close();
      on = open(target);
      expect(await shown()).toEqual(expected);
    }
    await on.copyThread("thread", "copy");
    expect(await shown("copy")).toEqual(expected);
    await on.put(config, checkpoint(), metadata(), {});
    const parent = (await on.getTuple(config))!.pendingWrites!;
    expect(parent.map(([task, channel]) => `${task} ${channel}`)).toEqual(expected);
    expect(await on.check()).toMatchObject({ ok: true, findings: [] });
  });

  it("the history of a delta channel has the order of the paths", async () => {
    const on = saver(kind);
    const config = await on.put(thread(), checkpoint(), metadata(), {});
    await on.putWrites(config, [["log", "second"]], "a", "~b");
    await on.putWrites(config, [["log", "first"]], "b", "~a");
    const child = await on.put(config, checkpoint(), metadata(), {});
    const { log } = await on.getDeltaChannelHistory({ config: child, channels: ["log"] });
    expect(log!.writes.map(([, , value]) => value)).toEqual(["first", "second"]);
  });

  it("parallel nodes whose order matters have the same state after a resume", async () => {
    const State = Annotation.Root({
      words: Annotation<string>({ reducer: (before, word) => `${before}${word}`, default: () => "" }),
    });
    const names = ["z", "y", "x", "w"];
    let fails = true;
    const build = (path: string) => {
      let graph = new StateGraph(State) as any;
      for (const name of names) {
        graph = graph
          .addNode(name, () => {
            if (name === "w" && path === "resumed" && fails) throw new Error("once");
            return { words: name };
          })
          .addEdge(START, name);
      }
      return graph.compile({ checkpointer: open(place(kind)) });
    };
    const whole = await build("whole").invoke({ words: "" }, thread());
    const resumed = build("resumed");
    await expect(resumed.invoke({ words: "" }, thread())).rejects.toThrow("once");
    fails = false;
    expect(await resumed.invoke(null, thread())).toEqual(whole);
  });
});
