// A thread belongs to the program that made it. Another program's write is refused, unless it takes the thread over.
import { Command, interrupt } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { type ForkpointSaver, recover } from "forkpoint/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
// @ts-expect-error The fixture is JavaScript.
import { scripted } from "./fixtures/model.mjs";
import { Log, all, checkpoint, metadata, open, place, rejection, sequence, sharedKinds, thread } from "./helpers.js";

const sync = (more = {}) => ({ configurable: { ...thread().configurable, ...more }, durability: "sync" as const });
const taken = { force: true };

/** The graph of a program that asks, and then pays. */
const billing = (checkpointer: ForkpointSaver, ran: string[] = []) =>
  sequence(Log, {
    ask: () => ({ log: [`asked: ${interrupt<string, string>("pay?")}`] }),
    pay: () => (ran.push("pay"), { log: ["paid"] }),
  }).compile({ checkpointer });

/** The graph of a program with other nodes. */
const support = (checkpointer: ForkpointSaver, ran: string[] = []) =>
  sequence(Log, { reply: () => (ran.push("reply"), { log: ["replied"] }) }).compile({ checkpointer });

const refused = {
  code: "CONFLICT",
  message:
    'thread "thread" belongs to the program "billing", and this is "support": nothing was stored. Continue it with "billing". ' +
    'To take it over, set force: true in config.configurable: it then belongs to "support"',
};

/** Everything that a store holds of the thread. */
async function contents(on: ForkpointSaver) {
  const found = [];
  for await (const { checkpoint, metadata, pendingWrites } of on.list(thread()))
    found.push([checkpoint.id, metadata, pendingWrites]);
  return found;
}

describe.each(sharedKinds)("%s", (kind) => {
  /** The savers of two programs, and a thread of the first that asks. */
  async function asking(options = {}) {
    const target = place(kind);
    const [one, other] = [open(target, { program: "billing" }), open(target, { program: "support", ...options })];
    await billing(one).invoke({ log: ["in"] }, sync());
    return { target, one, other, before: await contents(one) };
  }

  const writes: Array<[string, (graph: any, saver: ForkpointSaver) => Promise<unknown>]> = [
    ["a new input", (graph) => graph.invoke({ log: ["hello"] }, sync())],
    ["an answer", (graph) => graph.invoke(new Command({ resume: "yes" }), sync())],
    ["a resume", (graph) => graph.invoke(null, sync())],
    ["a stream", async (graph) => all(await graph.stream({ log: [] }, sync()))],
    ["the durability exit", (graph) => graph.invoke({ log: [] }, { ...sync(), durability: "exit" })],
    ["updateState", (graph) => graph.updateState(sync(), { log: ["edited"] }, "reply")],
    ["put", async (_, on) => on.put((await newest(on))!.config, checkpoint(), metadata(), {})],
    ["put without a parent", (_, on) => on.put(thread(), checkpoint(), metadata(), {})],
    ["put in a subgraph", (_, on) => on.put(thread("thread", { checkpoint_ns: "sub" }), checkpoint(), metadata(), {})],
    ["putWrites", async (_, on) => on.putWrites((await newest(on))!.config, [["log", ["x"]]], "task")],
  ];
  const newest = (on: ForkpointSaver) => on.getTuple(thread());

  it.each(writes)("%s of another program is refused, and stores nothing", async (_, write) => {
    const { one, other, before } = await asking();
    const ran: string[] = [];
    expect(await rejection(write(support(other, ran), other))).toMatchObject(refused);
    expect(ran).toEqual([]);
    expect(await contents(one)).toEqual(before);
    // Its own program continues the thread.
    const { log } = await billing(one).invoke(new Command({ resume: "yes" }), sync());
    expect(log).toEqual(["in", "asked: yes", "paid"]);
  });

  it.each([
    ["the option", { program: { name: "support", ...taken } }, {}],
    ["the config", {}, taken],
  ])("%s force takes a thread over, which then belongs to the other program", async (_, options, more) => {
    const { one, other } = await asking(options);
    expect(other.program).toBe("support");
    const { log } = await support(other).invoke({ log: ["hello"] }, sync(more));
    expect(log).toEqual(["in", "hello", "replied"]);
    const error = await rejection(billing(one).invoke({ log: [] }, sync()));
    expect(error).toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining('belongs to the program "support"'),
    });
    expect((await support(other).invoke({ log: [] }, sync())).log).toHaveLength(4);
  });

  it.each(["async", "sync"] as const)(
    "a program loses a thread that another one takes over (%s)",
    async (durability) => {
      const target = place(kind);
      const child = new Child([target, "billing", "thread"], {}, "owner.mjs");
      await child.until("running");
      const other = open(target, { program: "support" });
      expect(await rejection(support(other).invoke({ log: [] }, sync()))).toMatchObject(refused);
      const config = { ...sync(taken), durability };
      expect((await support(other).invoke({ log: ["hello"] }, config)).log).toEqual(["hello", "replied"]);
      child.goOn();
      const { lines } = await child.ended();
      // The node that ran when the thread was taken over is the last one.
      expect(lines.map(({ event }) => event)).toEqual(["running", "end"]);
      expect(lines[1]).toMatchObject({
        code: "CONFLICT",
        message: expect.stringContaining("another run has continued"),
      });
      expect((await support(other).getState(thread())).values.log).toEqual(["hello", "replied"]);
      expect((await contents(other)).length).toBe(5);
    },
  );

  it("the newest checkpoint tells to whom a thread belongs, wherever a run begins", async () => {
    const { one, other, before } = await asking();
    const checkpoint_id = before[0]![0] as string;
    await support(other).invoke({ log: ["hello"] }, sync(taken));
    const after = await contents(one);
    for (const id of [checkpoint_id, undefined]) {
      const config = sync(id === undefined ? {} : { checkpoint_id: id });
      for (const input of [null, { log: [] }, new Command({ resume: "yes" })])
        expect((await rejection(billing(one).invoke(input, config))).message).toContain(
          'belongs to the program "support"',
        );
      const update = billing(one).updateState(config, { log: [] }, "ask");
      expect((await rejection(update)).message).toContain('belongs to the program "support"');
    }
    expect(await contents(one)).toEqual(after);
    // Its owner may begin at a checkpoint that the first program has made.
    await support(other).invoke({ log: ["back"] }, sync({ checkpoint_id }));
    expect((await contents(one)).length).toBeGreaterThan(after.length);
  });

  it("reads, tools, forks, and programs without a name stay as they were", async () => {
    const { target, one, other } = await asking();
    expect(await support(other).getState(thread())).toMatchObject({ values: { log: ["in"] } });
    expect(await contents(other)).toHaveLength(2);
    await using inspector = await openInspector(target, { write: true });
    await inspector.answer({ space: "langgraph", run: "thread" }, { approve: true });
    const { runs } = await recover(billing(one), one);
    expect(runs).toMatchObject([{ outcome: "finished" }]);
    const nameless = open(target);
    await support(nameless).invoke({ log: [] }, sync());
    // A thread of a program without a name has no owner.
    await support(other).invoke({ log: [] }, sync());
    await other.copyThread("thread", "copy");
    const error = await rejection(billing(one).invoke({ log: [] }, { ...sync({ thread_id: "copy" }) }));
    expect(error.message).toContain('thread "copy" belongs to the program "support"');
    await one.deleteThread("copy");
    expect(await one.status("copy")).toBeNull();
    await billing(one).invoke({ log: [] }, { ...sync({ thread_id: "copy" }) });
  });

  it("a refused run frees the lease of the thread", async () => {
    const { target, other } = await asking({ lease: { ttlMs: 60_000 } });
    expect(await rejection(support(other).invoke({ log: [] }, sync()))).toMatchObject(refused);
    expect(await rejection(support(other).updateState(sync(), { log: [] }, "reply"))).toMatchObject(refused);
    const own = open(target, { program: "billing", lease: { ttlMs: 60_000 } });
    expect((await billing(own).invoke(new Command({ resume: "yes" }), sync())).log).toContain("paid");
  });
});

describe("the name of a program", () => {
  const target = () => place("sqlite");

  it("is the name of the graph after recover()", async () => {
    const at = target();
    const [one, other] = [open(at), open(at)];
    const [bills, helps] = [billing(one), support(other)];
    Object.assign(bills, { name: "billing" });
    Object.assign(helps, { name: "support" });
    await recover(bills, one);
    await bills.invoke({ log: ["in"] }, sync());
    await recover(helps, other);
    expect(await rejection(helps.invoke({ log: [] }, sync()))).toMatchObject(refused);
    expect(await rejection(helps.updateState(sync(), { log: [] }, "reply"))).toMatchObject(refused);
    await helps.invoke({ log: [] }, sync(taken));
  });

  it("is the name of an agent: another agent may only continue a conversation with nothing left to run", async () => {
    const on = open(target());
    let fails = false;
    const agent = (name: string) =>
      createAgent({
        name,
        tools: [],
        checkpointer: on,
        model: scripted(() => {
          if (fails) throw new Error("a crash");
          return { content: name };
        }),
      });
    const say = { messages: [{ role: "user", content: "go" }] };
    await agent("billing").invoke(say, sync());
    expect((await agent("support").invoke(say, sync())).messages).toHaveLength(4);
    fails = true;
    await rejection(agent("support").invoke(say, sync()));
    fails = false;
    const error = await rejection(agent("billing").invoke(say, sync()));
    expect(error.message).toContain('thread "thread" belongs to the program "support", and this is "billing"');
    expect((await agent("support").invoke(null as never, sync())).messages).toHaveLength(6);
  });

  it("refuses a wrong option", () => {
    const wrong = (program: unknown) => () => open("memory:", { program } as never);
    expect(wrong({})).toThrow('option "program" has no name: pass { name, force }, or the name itself');
    expect(wrong({ name: "" })).toThrow('option "name" is empty: pass the name of the program, or leave it out');
    expect(wrong({ name: "a", force: 1 })).toThrow('option "force" must be true or false, but is 1');
    expect(wrong({ name: "a", forced: true })).toThrow('Unknown option "forced"');
    expect(wrong(7)).toThrow('option "program" must be a string, but is 7');
  });

  it("refuses a wrong force in the config before a node runs", async () => {
    const ran: string[] = [];
    const graph = support(open("memory:", { program: "support" }), ran);
    const error = await rejection(graph.invoke({ log: [] }, sync({ force: "yes" })));
    expect(error).toMatchObject({ name: "TypeError", message: "force must be true or false, but is a string" });
    expect(ran).toEqual([]);
  });
});
