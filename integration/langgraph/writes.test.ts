// Tests pending writes: the writes that tasks of a step have made before the step ends.
import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import { ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  Log,
  all,
  checkpoint,
  kinds,
  metadata,
  open,
  place,
  rejection,
  saver,
  says,
  thread,
  until,
} from "./helpers.js";

/** Sorts writes in an order that does not depend on the store. */
const sorted = <T>(writes: T[] | undefined) => writes?.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));

describe.each(kinds)("on %s", (kind) => {
  it("no write waits for a checkpoint that has come, when a node has blocked the event loop", async () => {
    // No time passes but in the node. So a write that waits for its timer would wait for ever.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const checkpointer = saver(kind);
    const app = new StateGraph(Log)
      .addNode("fast", says("fast"))
      .addNode("slow", async () => {
        // The write of the other node comes first. The event loop doesn't turn.
        for (let turn = 0; turn < 200; turn++) await Promise.resolve();
        vi.advanceTimersByTime(60_000);
        return { log: ["slow"] };
      })
      .addNode("slower", async () => {
        for (let turn = 0; turn < 400; turn++) await Promise.resolve();
        return { log: ["slower"] };
      })
      .addEdge(START, "fast")
      .addEdge(START, "slow")
      .addEdge(START, "slower")
      .compile({ checkpointer });
    const config = { ...thread(), durability: "async" as const };
    expect((await app.invoke({ log: [] }, config)).log).toEqual(["fast", "slow", "slower"]);
    const { pendingWrites } = (await all(checkpointer.list(thread())))[1]!;
    expect(pendingWrites!.filter(([, channel]) => channel === "log")).toHaveLength(3);
  });

  describe("a step with several nodes", () => {
    it("that fails in one of them: the others' writes survive, and only that one runs again", async () => {
      const ran: string[] = [];
      let broken = true;
      const checkpointer = saver(kind);
      const node = (name: string) => async () => {
        ran.push(name);
        // Wait for the other tasks, because a failure aborts those that still run.
        if (name === "c") await until(async () => (await done()) === 2);
        if (name === "c" && broken) throw new Error("out of order");
        return { log: [name] };
      };
      const done = async () => {
        const { pendingWrites } = (await checkpointer.getTuple(thread()))!;
        return pendingWrites!.filter(([, channel]) => channel.startsWith("join:")).length;
      };
      const app = new StateGraph(Log)
        .addNode("a", node("a"))
        .addNode("b", node("b"))
        .addNode("c", node("c"))
        .addNode("join", node("join"))
        .addEdge(START, "a")
        .addEdge(START, "b")
        .addEdge(START, "c")
        .addEdge(["a", "b", "c"], "join")
        .addEdge("join", END)
        .compile({ checkpointer });

      expect((await rejection(app.invoke({ log: ["in"] }, thread()))).message).toBe("out of order");
      expect(ran.toSorted()).toEqual(["a", "b", "c"]);
      const { pendingWrites } = (await checkpointer.getTuple(thread()))!;
      expect(sorted(pendingWrites!.filter(([, channel]) => channel === "log").map(([, , value]) => value))).toEqual([
        ["a"],
        ["b"],
      ]);
      const failed = (await app.getState(thread())).tasks.find(({ name }) => name === "c")!;
      expect(failed.error).toMatchObject({ message: "out of order" });
      expect(pendingWrites).toContainEqual([failed.id, ERROR, { name: "Error", message: "out of order" }]);

      // Resume and fail again: the writes survive any number of failures.
      ran.length = 0;
      await rejection(app.invoke(null, thread()));
      expect(ran).toEqual(["c"]);
      broken = false;
      ran.length = 0;
      expect(await app.invoke(null, thread())).toEqual({ log: ["in", "a", "b", "c", "join"] });
      expect(ran).toEqual(["c", "join"]);
    });

    it("made by Send: those that are done are not sent again", async () => {
      const State = Annotation.Root({
        jobs: Annotation<number[]>,
        done: Annotation<number[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
      });
      const ran: number[] = [];
      let broken = true;
      const app = new StateGraph(State)
        .addNode("work", ({ job }: { job: number }) => {
          ran.push(job);
          if (job === 3 && broken) throw new Error("job 3");
          return { done: [job * 10] };
        })
        .addConditionalEdges(START, ({ jobs }) => jobs.map((job) => new Send("work", { job })))
        .compile({ checkpointer: saver(kind) });
      await rejection(app.invoke({ jobs: [1, 2, 3, 4] }, thread()));
      broken = false;
      ran.length = 0;
      expect((await app.invoke(null, thread())).done).toEqual([10, 20, 30, 40]);
      expect(ran).toEqual([3]);
    });

    it("that is interrupted in one: the others' writes wait for the answer", async () => {
      const ran: string[] = [];
      const app = new StateGraph(Log)
        .addNode("quick", () => {
          ran.push("quick");
          return { log: ["quick"] };
        })
        .addNode("ask", () => ({ log: [interrupt<string, string>("?")] }))
        .addEdge(START, "quick")
        .addEdge(START, "ask")
        .compile({ checkpointer: saver(kind) });
      await app.invoke({ log: [] }, thread());
      expect((await app.invoke(new Command({ resume: "yes" }), thread())).log.toSorted()).toEqual(["quick", "yes"]);
      expect(ran).toEqual(["quick"]);
    });

    it("SqliteSaver: bytes that wait for a failed sibling come back as bytes", async () => {
      const State = Annotation.Root({ bytes: Annotation<Uint8Array>, word: Annotation<string> });
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      let broken = true;
      let made = 0;
      const app = new StateGraph(State)
        .addNode("make", () => {
          made += 1;
          return { bytes };
        })
        .addNode("fail", () => {
          if (broken) throw new Error("not yet");
          return { word: "done" };
        })
        .addEdge(START, "make")
        .addEdge(START, "fail")
        .compile({ checkpointer: saver(kind) });
      await rejection(app.invoke({ word: "" }, thread()));
      broken = false;
      const result = await app.invoke(null, thread());
      expect(result.bytes).toBeInstanceOf(Uint8Array);
      expect(result).toEqual({ bytes, word: "done" });
      expect(made).toBe(1);
      expect((await app.getState(thread())).values).toEqual({ bytes, word: "done" });
    });
  });

  describe("putWrites", () => {
    const { id } = checkpoint();
    const at = thread("thread", { checkpoint_ns: "", checkpoint_id: id });
    const put = (to: ReturnType<typeof saver>) => to.put(thread(), { ...checkpoint(), id }, metadata(), {});

    it("keeps values of every kind, in their order, with their tasks", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
      const values = [
        "text",
        0,
        -0.5,
        true,
        null,
        "",
        [],
        {},
        { deep: [{ é: "😀" }] },
        new Map([["a", new Set([1])]]),
        new Uint8Array([0, 1, 254, 255]),
        new Uint8Array(0),
        { bytes: new Uint8Array([7]) },
      ];
      await checkpointer.putWrites(
        at,
        values.map((value, i) => [`channel ${i}`, value]),
        "task",
      );
      const { pendingWrites } = (await checkpointer.getTuple(at))!;
      expect(pendingWrites).toEqual(values.map((value, i) => ["task", `channel ${i}`, value]));
      expect(pendingWrites![10]![2]).toBeInstanceOf(Uint8Array);
      const [listed] = await all(checkpointer.list(thread()));
      expect(listed!.pendingWrites).toEqual(pendingWrites);
    });

    it("SqliteSaver: big bytes are not text", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) % 256);
      await checkpointer.putWrites(at, [["bytes", bytes]], "task");
      const [[, , read]] = (await checkpointer.getTuple(at))!.pendingWrites as [[string, string, Uint8Array]];
      expect(read).toBeInstanceOf(Uint8Array);
      expect(Buffer.from(read).equals(bytes)).toBe(true);
    });

    it("may come before its checkpoint", async () => {
      const checkpointer = saver(kind);
      await checkpointer.putWrites(at, [["early", 1]], "task");
      expect(await checkpointer.getTuple(at)).toBeUndefined();
      expect(await checkpointer.getTuple(thread())).toBeUndefined();
      expect(await all(checkpointer.list(thread()))).toEqual([]);
      await put(checkpointer);
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([["task", "early", 1]]);
    });

    it("SqliteSaver: without a namespace it is the root's", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(thread("thread", { checkpoint_id: id }), [["a", 1]], "task");
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([["task", "a", 1]]);
    });

    it("belongs to one checkpoint of one namespace of one thread", async () => {
      const checkpointer = saver(kind);
      const places = [
        thread("thread", { checkpoint_ns: "", checkpoint_id: id }),
        thread("thread", { checkpoint_ns: "sub", checkpoint_id: id }),
        thread("other", { checkpoint_ns: "", checkpoint_id: id }),
        thread("thread", { checkpoint_ns: "", checkpoint_id: uuid6(0) }),
      ];
      for (const [i, config] of places.entries()) {
        const { checkpoint_id: own, ...rest } = config.configurable;
        await checkpointer.put(thread(rest.thread_id, rest), { ...checkpoint(), id: own! }, metadata(), {});
        await checkpointer.putWrites(config, [["n", i]], "task");
      }
      for (const [i, config] of places.entries()) {
        expect((await checkpointer.getTuple(config))!.pendingWrites).toEqual([["task", "n", i]]);
      }
    });

    it("twice by one task: the first write of each position stays", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(
        at,
        [
          ["a", 1],
          ["b", 2],
        ],
        "task",
      );
      await checkpointer.putWrites(
        at,
        [
          ["a", 10],
          ["x", 20],
          ["c", 30],
        ],
        "task",
      );
      await checkpointer.putWrites(at, [["a", 100]], "another");
      expect(sorted((await checkpointer.getTuple(at))!.pendingWrites)).toEqual([
        ["another", "a", 100],
        ["task", "a", 1],
        ["task", "b", 2],
        ["task", "c", 30],
      ]);
    });

    it.each([ERROR, SCHEDULED, INTERRUPT, RESUME])("twice to %s: the last one stays", async (channel) => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(at, [[channel, "first"]], "task");
      await checkpointer.putWrites(at, [[channel, "second"]], "task");
      await checkpointer.putWrites(at, [[channel, "another's"]], "another");
      expect(sorted((await checkpointer.getTuple(at))!.pendingWrites)).toEqual([
        ["another", channel, "another's"],
        ["task", channel, "second"],
      ]);
    });

    it("special channels have places of their own beside the ordinary ones", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(at, [["a", 1]], "task");
      await checkpointer.putWrites(at, [[INTERRUPT, "?"]], "task");
      await checkpointer.putWrites(at, [[RESUME, ["!"]]], "task");
      await checkpointer.putWrites(at, [[INTERRUPT, "??"]], "task");
      expect(sorted((await checkpointer.getTuple(at))!.pendingWrites)).toEqual([
        ["task", INTERRUPT, "??"],
        ["task", RESUME, ["!"]],
        ["task", "a", 1],
      ]);
    });

    it("several to one channel are all kept, sends too", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      const sends = [1, 2, 3].map((n): [string, unknown] => [TASKS, { node: "work", args: { n } }]);
      await checkpointer.putWrites(at, sends, "task");
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual(
        sends.map(([channel, send]) => ["task", channel, send]),
      );
    });

    it("of nothing stores nothing", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(at, [], "task");
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
    });

    it("survives that its checkpoint is put again", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      await checkpointer.putWrites(at, [["a", 1]], "task");
      await put(checkpointer);
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([["task", "a", 1]]);
    });

    it("without a thread or a checkpoint rejects, and so does put without a thread", async () => {
      const checkpointer = saver(kind);
      await rejection(checkpointer.putWrites({ configurable: { checkpoint_id: id } }, [["a", 1]], "task"));
      await rejection(checkpointer.putWrites(thread(), [["a", 1]], "task"));
      await rejection(checkpointer.putWrites({}, [["a", 1]], "task"));
      await rejection(checkpointer.put({}, checkpoint(), metadata(), {}));
      await rejection(checkpointer.put({ configurable: { checkpoint_ns: "" } }, checkpoint(), metadata(), {}));
      expect(await all(checkpointer.list({}))).toEqual([]);
    });

    it("at once by many tasks: none is lost", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      const tasks = Array.from({ length: 50 }, (_, i) => `task ${String(i).padStart(2, "0")}`);
      await Promise.all(
        tasks.map((task) =>
          checkpointer.putWrites(
            at,
            [
              ["a", task],
              ["b", [task]],
            ],
            task,
          ),
        ),
      );
      const { pendingWrites } = (await checkpointer.getTuple(at))!;
      expect(sorted(pendingWrites)).toEqual(
        tasks.flatMap((task) => [
          [task, "a", task],
          [task, "b", [task]],
        ]),
      );
    });

    it("does not see what becomes of its values afterwards", async () => {
      const checkpointer = saver(kind);
      await put(checkpointer);
      const value = { list: [1], bytes: new Uint8Array([1, 2, 3]) };
      const bytes = new Uint8Array([1, 2, 3]);
      await checkpointer.putWrites(
        at,
        [
          ["value", value],
          ["bytes", bytes],
        ],
        "task",
      );
      value.list.push(2);
      value.bytes.fill(9);
      bytes.fill(9);
      const expected = [
        ["task", "value", { list: [1], bytes: new Uint8Array([1, 2, 3]) }],
        ["task", "bytes", new Uint8Array([1, 2, 3])],
      ];
      const read = (await checkpointer.getTuple(at))!.pendingWrites!;
      expect(read).toEqual(expected);
      // If one reader changes the returned value, another reader must not see the change.
      (read[0]![2] as typeof value).list.push(3);
      (read[1]![2] as Uint8Array).fill(8);
      expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual(expected);
    });
  });
});

it("pending writes wait in the file", async () => {
  const target = place("sqlite");
  let broken = true;
  const ran: string[] = [];
  const graph = () =>
    new StateGraph(Log)
      .addNode("a", () => {
        ran.push("a");
        return says("a")();
      })
      .addNode("b", () => {
        ran.push("b");
        if (broken) throw new Error("not yet");
        return says("b")();
      })
      .addEdge(START, "a")
      .addEdge(START, "b");
  const first = open(target);
  await rejection(graph().compile({ checkpointer: first }).invoke({ log: [] }, thread()));
  await first.close();
  broken = false;
  expect(
    await graph()
      .compile({ checkpointer: open(target) })
      .invoke(null, thread()),
  ).toEqual({ log: ["a", "b"] });
  expect(ran).toEqual(["a", "b", "b"]);
});
