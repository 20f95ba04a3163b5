// Tests recover(): it resumes crashed runs, once, and never a run that waits for a human's answer.
import { type CheckpointStore, ForkpointError, type RecoveredRun, openStore, recover } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Gate, rejection } from "../../__test__/helpers.js";
import { Child } from "./children.js";
import { END, InMemoryCheckpointStore, humanNode, routerNode, workflow } from "./framework.js";
import {
  Tools,
  backends,
  chain,
  crashedAfter,
  external,
  failing,
  folder,
  graphOf,
  open as openAs,
  refundNodes,
  savedAt,
  tool,
  watch,
} from "./harness.js";

// recover() takes only the runs of its own program.
const open = (target: string) => openAs(target, { program: "tests" });

/** The refund graph: `draft`, the human node `approve`, a router, and `refund` or `decline`. */
const refund = (config?: object) =>
  graphOf(
    { ...external("draft"), ...refundNodes() },
    ["START draft approve route refund END", "route decline END"],
    config,
  );

const statuses = async (store: CheckpointStore) => (await store.runs()).runs.map(({ status }) => status);

const three = external("first second third");

describe.each(backends)("on %s", (_backend, target) => {
  it("resumes a crashed run to its end, says so, and repeats neither it nor one that ended by itself", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    await graph.invoke({});
    tools.calls.length = 0;
    const runId = await crashedAfter(graph, "first");
    expect(await statuses(store)).toEqual(["unfinished", "finished"]);

    const { runs, checked } = await recover(graph, store);
    const output = { first: "first!", second: "second!", third: "third!" };
    expect(runs).toEqual([{ runId, outcome: "finished", checkpointId: expect.any(String), output }]);
    expect(checked).toBe(1);
    expect(tools.calls).toEqual(["first", "second", "third"]);
    expect(await statuses(store)).toEqual(["finished", "finished"]);
    expect((await store.latest(runId))!.state.artifacts).toEqual(output);
    expect(await recover(graph, store)).toEqual({ runs: [], checked: 0 });
    expect(await graph.resume(runId)).toEqual(output);
    expect(tools.calls).toEqual(["first", "second", "third"]);
  });

  describe("a stop while recover continues a run", () => {
    const ana = { by: "Ana", reason: "wrong order" };
    const outcome = { outcome: "stopped", stopped: { kind: "stop", ...ana, at: expect.any(Number) } };

    /** Recovers a run that is stopped while its node `name` runs. */
    async function stopIn(name: string, after: () => unknown = () => `${name}!`) {
      const store = open(target());
      let stops = true;
      const tools: Tools = new Tools({
        [name]: async () => {
          // The stop arrives meanwhile. It waits for this function.
          if (stops) expect(await store.stop(runId, { ...ana, waitMs: 2_000 })).toMatchObject({ outcome: "no answer" });
          return stops ? after() : `${name}!`;
        },
      });
      const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
      const runId = await crashedAfter(graph, "first");
      tools.calls.length = 0;
      const { runs } = await recover(graph, store, { onFailed: () => expect.unreachable() });
      stops = false;
      return { store, graph, tools, runId, runs };
    }

    it("ends it before its next node, and the next recover leaves it", async () => {
      const { store, graph, tools, runId, runs } = await stopIn("second");
      expect(runs).toEqual([{ runId, ...outcome }]);
      expect(tools.calls).toEqual(["second"]);
      expect((await store.runs()).runs).toMatchObject([{ status: "stopped", stopped: ana }]);
      expect((await recover(graph, store)).runs).toEqual([]);
      expect((await recover(graph, store, { runs: [runId] })).runs).toMatchObject([{ outcome: "finished" }]);
      expect(tools.calls).toEqual(["second", "second", "third"]);
      expect(await statuses(store)).toEqual(["finished"]);
    });

    it("a node that fails because of the stop is no failure", async () => {
      const { store, graph, tools, runId, runs } = await stopIn("second", () => {
        throw new Error("aborted");
      });
      expect(runs).toEqual([{ runId, ...outcome }]);
      expect(tools.calls).toEqual(["second"]);
      expect(await statuses(store)).toEqual(["stopped"]);
      expect((await recover(graph, store)).runs).toEqual([]);
    });

    it("a rollback takes it, even in its last node, and continues from where recover began", async () => {
      const store = open(target());
      const gate = new Gate();
      const tools = new Tools({ third: () => gate.wait().then(() => "third!") });
      const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
      const runId = await crashedAfter(graph, "first");
      const recovering = recover(graph, store);
      await gate.reached;
      const rolled = store.exclusive(runId, () => store.latest(runId), { whenBusy: "rollback", by: "Bob" });
      // The request of the first call has arrived by then.
      await rejection(store.exclusive(runId, () => {}, { whenBusy: "enqueue", maxWaitMs: 2_000 }));
      gate.open();
      expect((await rolled)!.visitedNodes).toEqual(["first"]);
      expect((await recovering).runs).toMatchObject([{ outcome: "stopped", stopped: { kind: "rollback", by: "Bob" } }]);
      expect(await statuses(store)).toEqual(["unfinished"]);
    });

    it("in its last node, the run finishes", async () => {
      const { store, runId, runs } = await stopIn("third");
      expect(runs).toMatchObject([{ runId, outcome: "finished" }]);
      expect(await statuses(store)).toEqual(["finished"]);
    });
  });

  it("never resumes a run that waits for a human", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = refund().compile({ checkpointStore: store, deps: tools.deps });
    const { runId } = await watch(graph.stream({}));
    const waiting = { runId, outcome: "waiting", checkpointId: expect.any(String), nodes: ["approve"], forks: [] };
    expect((await recover(graph, store)).runs).toEqual([waiting]);
    expect((await recover(graph, store, { onWaiting: () => undefined })).runs).toEqual([waiting]);
    expect(tools.calls).toEqual(["draft"]);
    expect(await statuses(store)).toEqual(["waiting"]);
  });

  it.each([
    [true, "refund"],
    [false, "decline"],
  ])("passes the answer approved: %s once, and it decides what runs", async (approved, ran) => {
    const store = open(target());
    const tools = new Tools();
    const graph = refund().compile({ checkpointStore: store, deps: tools.deps });
    const { runId } = await watch(graph.stream({ order: 7 }));
    const asked: unknown[] = [];
    const onWaiting = (node: { prompt: string | undefined }) => {
      asked.push(node);
      return { approved };
    };
    const [run] = (await recover(graph, store, { onWaiting })).runs;
    expect(run).toMatchObject({ outcome: "finished", output: { approve: { approved }, [ran]: `${ran}!` } });
    expect(asked).toMatchObject([
      { runId, nodeId: "approve", prompt: "Refund 480?", forks: [], state: { input: { order: 7 } } },
    ]);
    expect(tools.calls).toEqual(["draft", ran]);
    expect((await recover(graph, store, { onWaiting })).runs).toEqual([]);
    expect(asked).toHaveLength(1);

    const history = (await store.listByRun(runId)).map(({ nodeId }) => nodeId);
    expect(history).toEqual([END, "approve", "approve", "draft"]);
    expect(await store.latest(runId)).toMatchObject({
      visitedNodes: ["draft", "approve", "route", ran, END],
      skippedNodes: [ran === "refund" ? "decline" : "refund"],
    });
    expect((await store.get((await store.listByRun(runId))[1]!.id))!.nodeResults["approve"]!.output).toEqual({
      approved,
    });
  });

  it.each(["refund", "decline"])("the last checkpoint names the nodes that ran: %s", async (ran) => {
    const [store, alike] = [open(target()), open("memory:")];
    const tools = new Tools();
    const made = (checkpointStore: CheckpointStore) => {
      const route = routerNode(() => ran);
      const graph = graphOf({ route, ...external("draft decline refund tell") }, [
        "START draft route refund tell END",
        "route decline tell",
      ]);
      return graph.compile({ checkpointStore, deps: tools.deps });
    };
    await made(alike).invoke({});
    const [whole] = (await alike.runs()).runs;
    const { visitedNodes, skippedNodes } = (await alike.latest(whole!.runId))!;
    expect(visitedNodes).toEqual(["draft", "route", ran, "tell"]);

    const graph = made(store);
    // The second one hides what AgentOS reports about a resume: then the outputs tell which nodes ran.
    for (const one of [graph, { toIR: () => graph.toIR(), resume: (id: string) => graph.resume(id) }]) {
      const runId = await crashedAfter(graph, "draft");
      expect((await recover(one, store)).runs).toMatchObject([{ runId, outcome: "finished" }]);
      const last = (await store.latest(runId))!;
      expect(last.visitedNodes.toSorted()).toEqual([...visitedNodes, END].toSorted());
      expect(last.skippedNodes).toEqual(skippedNodes);
      tools.calls.length = 0;
      await graph.resume(runId);
      expect(tools.calls).toEqual([]);
    }
  });

  it("warns of a graph that saves nothing when a node completes", async () => {
    const store = open(target());
    const graph = chain(three, {}).compile({ checkpointStore: store, deps: new Tools().deps });
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    await recover(graph, store);
    await recover(graph, store);
    await recover(chain(three).compile({ checkpointStore: store, deps: new Tools().deps }), store);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map(({ name }) => name)).toEqual(["ForkpointWarning"]);
    expect(warnings[0]!.message).toContain('{ checkpointPolicy: "every_node" }');
  });

  it("asks again at the next human node of the same run", async () => {
    const store = open(target());
    const tools = new Tools();
    const gate = (prompt: string) => humanNode({ prompt });
    const graph = chain({
      one: gate("one?"),
      middle: tool("middle", "write"),
      two: gate("two?"),
      last: tool("last", "write"),
    });
    const compiled = graph.compile({ checkpointStore: store, deps: tools.deps });
    await watch(compiled.stream({}));
    const prompts: unknown[] = [];
    const onWaiting = ({ prompt, nodeId }: { prompt: string | undefined; nodeId: string }) => {
      prompts.push(prompt);
      return nodeId === "one" ? "yes" : undefined;
    };
    expect((await recover(compiled, store, { onWaiting })).runs).toMatchObject([
      { outcome: "waiting", nodes: ["two"] },
    ]);
    expect(prompts).toEqual(["one?", "two?"]);
    const done = (await recover(compiled, store, { onWaiting: () => "go" })).runs;
    expect(done).toMatchObject([{ outcome: "finished", output: { one: "yes", two: "go", last: "last!" } }]);
    expect(tools.calls).toEqual(["middle", "last"]);
  });

  it("waits for all human nodes that are reached at once, and keeps the answers that are there", async () => {
    const store = open(target());
    const tools = new Tools();
    const nodes = { legal: humanNode({ prompt: "legal?" }), money: humanNode({ prompt: "money?" }) };
    const paths = ["START legal pay END", "START money pay"];
    const graph = graphOf({ ...nodes, ...external("pay") }, paths).compile({
      checkpointStore: store,
      deps: tools.deps,
    });
    await watch(graph.stream({}));
    const onlyLegal = ({ nodeId }: { nodeId: string }) => (nodeId === "legal" ? "fine" : undefined);
    expect((await recover(graph, store, { onWaiting: onlyLegal })).runs).toMatchObject([
      { outcome: "waiting", nodes: ["money"] },
    ]);
    expect(tools.calls).toEqual([]);
    const asked: string[] = [];
    const [run] = (await recover(graph, store, { onWaiting: ({ nodeId }) => (asked.push(nodeId), "paid") })).runs;
    expect(run).toMatchObject({ outcome: "finished", output: { legal: "fine", money: "paid", pay: "pay!" } });
    expect(asked).toEqual(["money"]);
  });

  it("a waiting run whose checkpoint was forked is not asked for again, because the fork may hold the answer", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = refund().compile({ checkpointStore: store, deps: tools.deps });
    const original = await watch(graph.stream({}));
    const fork = await store.fork(savedAt(original, "approve"), { artifacts: { approve: { approved: true } } });
    await graph.resume(fork);
    expect(tools.calls).toEqual(["draft", "refund"]);

    const onWaiting = () => ({ approved: true });
    const { runs } = await recover(graph, store, { onWaiting });
    expect(runs).toMatchObject([{ runId: original.runId, outcome: "waiting", nodes: ["approve"], forks: [fork] }]);
    expect(tools.count("refund")).toBe(1);
    expect((await store.runs()).runs).toContainEqual(
      expect.objectContaining({ runId: fork, forkedFrom: savedAt(original, "approve") }),
    );
    await recover(graph, store, { onWaiting, askForked: true, runs: [original.runId] });
    expect(tools.count("refund")).toBe(2);
  });

  it("a fork is resumed only if it is named, because nobody knows whether it was", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    const original = await watch(graph.stream({}));
    const fork = await store.fork(savedAt(original, "second"), { scratch: { other: true } });
    await graph.resume(fork);
    tools.calls.length = 0;
    expect((await recover(graph, store)).runs).toEqual([]);
    expect(tools.calls).toEqual([]);
    const again = await store.fork(savedAt(original, "second"));
    expect((await recover(graph, store, { runs: [again] })).runs).toMatchObject([
      { runId: again, outcome: "finished" },
    ]);
    expect(tools.calls).toEqual(["third"]);
    expect((await recover(graph, store, { runs: [again] })).runs).toEqual([]);
  });

  it("a fork that a tool made waits until it is named, and is an ordinary run after that", async () => {
    const file = target();
    const shared = typeof file === "string" && file !== "memory:" ? undefined : await openStore(file as string);
    const store = open((shared ?? file) as string);
    const tools = new Tools();
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    const original = await watch(graph.stream({}));
    tools.calls.length = 0;
    const inspector = await openInspector((shared ?? file) as string, { write: true });
    const id = savedAt(original, "second");
    const { run: fork } = await inspector.fork(
      { space: "agentos", run: original.runId, id },
      { set: [["scratch.a", 1]] },
    );
    await inspector.close();
    const branch = { runId: fork, outcome: "skipped", why: "branch", program: "tests" };
    for (let start = 0; start < 2; start++) expect((await recover(graph, store)).runs).toMatchObject([branch]);
    expect(tools.calls).toEqual([]);
    expect((await recover(graph, store, { runs: [fork] })).runs).toMatchObject([{ runId: fork, outcome: "finished" }]);
    expect(tools.calls).toEqual(["third"]);
    expect((await recover(graph, store)).runs).toEqual([]);
    await shared?.close();
  });

  it("refuses a rejection that would stop nothing", async () => {
    const store = open(target());
    const tools = new Tools();
    const nodes = { approve: humanNode({ prompt: "?" }), look: tool("look", "pure"), pay: tool("pay", "external") };
    const graph = chain(nodes);
    const compiled = graph.compile({ checkpointStore: store, deps: tools.deps });
    await watch(compiled.stream({}));
    const onWaiting = () => ({ approved: false });
    const [run] = (await recover(compiled, store, { onWaiting })).runs;
    expect(run).toMatchObject({ outcome: "error", error: { code: "INVALID_ARGUMENT" } });
    expect((run as { error: Error }).error.message).toContain('"pay"');
    expect(tools.calls).toEqual([]);
    expect((await recover(compiled, store, { onWaiting, passRejections: true })).runs).toMatchObject([
      { outcome: "finished" },
    ]);
  });

  it("knows a failed run from a waiting one, and retries its node only when told to", async () => {
    const store = open(target());
    const tools = new Tools({ second: failing(2, "at last") });
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    const { runId } = await watch(graph.stream({}));
    expect(await statuses(store)).toEqual(["failed"]);
    const failed = { runId, outcome: "failed", nodes: ["second"] };
    expect((await recover(graph, store, { onWaiting: () => "never" })).runs).toMatchObject([failed]);
    expect((await recover(graph, store, { onFailed: () => "leave" })).runs).toMatchObject([failed]);
    expect(tools.calls).toEqual(["first", "second"]);
    // It fails a second time, and is not tried a third time in the same recovery.
    expect((await recover(graph, store, { onFailed: () => "retry" })).runs).toMatchObject([failed]);
    expect(tools.calls).toEqual(["first", "second", "second"]);
    expect((await recover(graph, store, { onFailed: async () => "retry" as const })).runs).toMatchObject([
      { outcome: "finished", output: { first: "first!", second: "at last", third: "third!" } },
    ]);
    expect(tools.calls).toEqual(["first", "second", "second", "second", "third"]);
  });

  it("an error of one run does not stop the others", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    const ids = [await crashedAfter(graph, "first"), await crashedAfter(graph, "first")];
    const broken = {
      toIR: () => graph.toIR(),
      resume: (runId: string) => (runId === ids[0] ? Promise.reject(new Error("no")) : graph.resume(runId)),
    };
    const seen: RecoveredRun[] = [];
    const { runs } = await recover(broken, store, { onRecovered: (run) => seen.push(run), concurrency: 1 });
    expect(new Map(runs.map(({ runId, outcome }) => [runId, outcome]))).toEqual(
      new Map([
        [ids[0], "error"],
        [ids[1], "finished"],
      ]),
    );
    expect(seen).toEqual(runs);
    expect((await recover(graph, store)).runs).toMatchObject([{ runId: ids[0], outcome: "finished" }]);
  });

  it("leaves the runs of other graphs alone", async () => {
    const store = openAs(target());
    const tools = new Tools();
    const steps = (name: string) =>
      workflow(name)
        .input({})
        .returns({})
        .step("a", { tool: "a", effectClass: "external" })
        .then("b", { tool: "b", effectClass: "external" })
        .compile({ checkpointStore: store, deps: tools.deps });
    const mine = await crashedAfter(steps("invoice"), "a");
    await crashedAfter(steps("invoice-late"), "a");
    const nameless = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    expect(await recover(nameless, store)).toEqual({ runs: [], checked: 0 });
    await crashedAfter(nameless, "first");
    const { runs } = await recover(steps("invoice"), store);
    expect(runs).toMatchObject([{ runId: mine, outcome: "finished" }]);
    // An unnamed graph has the same graph id as every other unnamed graph. Its nodes tell it apart.
    const other = chain({ other: tool("other", "pure") }).compile({ checkpointStore: store, deps: tools.deps });
    const skipped = { outcome: "skipped", why: "other program", program: null };
    expect(await recover(other, store)).toMatchObject({ runs: [skipped], checked: 1 });
  });

  it("a parallel branch that was running is not taken for the end", async () => {
    const store = open(target());
    const tools = new Tools({ slow: () => new Promise((resolve) => setTimeout(resolve, 20, "slow!")) });
    const paths = ["START quick END", "START slow END"];
    const graph = graphOf(external("quick slow"), paths).compile({ checkpointStore: store, deps: tools.deps });
    const run = await watch(graph.stream({}));
    const quick = (await store.get(savedAt(run, "quick")))!;
    await store.clear(run.runId);
    await store.save(quick);
    expect(quick.visitedNodes).toEqual(["quick"]);
    expect((await recover(graph, store)).runs).toMatchObject([{ outcome: "finished", output: { slow: "slow!" } }]);
  });

  it("with idleMs, a fresh run is left alone", async () => {
    const store = open(target());
    const graph = chain(three).compile({ checkpointStore: store, deps: new Tools().deps });
    await crashedAfter(graph, "first");
    expect((await recover(graph, store, { idleMs: 60_000 })).runs).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await recover(graph, store, { maxAgeMs: 1 })).runs).toEqual([]);
    expect((await recover(graph, store, { idleMs: 0, maxAgeMs: 60_000 })).runs).toHaveLength(1);
  });

  it("two recoveries at once recover each run once", async () => {
    const path = target();
    const shared = path === "memory:" ? await openStore(path) : undefined;
    const stores = [1, 2].map(() => open((shared ?? path) as string));
    const tools = new Tools();
    const graphs = stores.map((checkpointStore) => chain(three).compile({ checkpointStore, deps: tools.deps }));
    for (let i = 0; i < 10; i++) await crashedAfter(graphs[0]!, "first");
    tools.calls.length = 0;
    const reports = await Promise.all(graphs.map((graph, i) => recover(graph, stores[i]!, { leaseTtlMs: 3_000 })));
    const finished = reports.flatMap(({ runs }) => runs.filter(({ outcome }) => outcome === "finished"));
    expect(finished).toHaveLength(10);
    expect(tools.count("second")).toBe(10);
    expect(tools.count("third")).toBe(10);
    await shared?.close();
  });

  it("over AgentOS' own store, it is UNSUPPORTED, because it needs leases", async () => {
    const checkpointStore = new InMemoryCheckpointStore();
    const graph = chain(three).compile({ checkpointStore, deps: new Tools().deps });
    const error = await recover(graph, checkpointStore as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "ForkpointError", code: "UNSUPPORTED" });
  });

  it("refuses wrong arguments before it resumes anything", async () => {
    const store = open(target());
    const tools = new Tools();
    const graph = chain(three).compile({ checkpointStore: store, deps: tools.deps });
    await crashedAfter(graph, "first");
    tools.calls.length = 0;
    const wrong: Array<[unknown, unknown, unknown]> = [
      [undefined, store, {}],
      [{ resume: () => {} }, store, {}],
      [{ resume: () => {}, toIR: () => ({}) }, store, {}],
      [graph, {}, {}],
      [graph, undefined, {}],
      [graph, store, { onWaitng: () => {} }],
      [graph, store, { onWaiting: "yes" }],
      [graph, store, { runs: "all" }],
      [graph, store, { concurrency: 0 }],
      [graph, store, { signal: "now" }],
    ];
    for (const [one, two, three] of wrong) {
      await expect(recover(one as never, two as never, three as never)).rejects.toThrow(/./);
      const error = await recover(one as never, two as never, three as never).catch((thrown: unknown) => thrown);
      expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
    }
    await expect(recover(graph, store, { onWaitng: () => {} } as never)).rejects.toThrow('Did you mean "onWaiting"?');
    const [missing] = (await recover(graph, store, { runs: ["nobody"] })).runs;
    expect(missing).toMatchObject({ runId: "nobody", outcome: "error", error: { code: "NOT_FOUND" } });
    await expect(recover(graph, store, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    expect(tools.calls).toEqual([]);
  });

  it("refuses a graph whose end is not stored, because a finished run would be repeated", async () => {
    const store = open(target());
    const config = { checkpointPolicy: "explicit" } as never;
    const first = { ...tool("first", "external"), checkpoint: "after" } as never;
    const graph = chain({ first, second: tool("second", "external") }, config).compile({
      checkpointStore: store,
      deps: new Tools().deps,
    });
    await graph.invoke({});
    const error = await recover(graph, store).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ForkpointError);
    expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining('"second"') });
    // Nothing is stored on the way if only a human node stores its result, and only a human answers it.
    const other = open(target());
    const plain = refund({}).compile({ checkpointStore: other, deps: new Tools().deps });
    await watch(plain.stream({}));
    expect((await recover(plain, other, { onWaiting: () => ({ approved: true }) })).runs).toMatchObject([
      { outcome: "finished" },
    ]);
  });
});

// The first backend is one that processes can share.
describe.each(backends.slice(0, 1))("a refund that a human must approve, with restarts on %s", (_backend, target) => {
  const place = () => [target(), join(folder(), "journal")] as const;
  const ran = (journal: string) =>
    existsSync(journal)
      ? readFileSync(journal, "utf8")
          .trim()
          .split("\n")
          .map((line) => line.split(" ")[1])
      : [];

  it("an answer leads to its effect, once, whenever the process is killed", { timeout: 60_000 }, async () => {
    const [answer, effect] = ["no", "decline"];
    const [database, journal] = place();
    const { runId } = await (async () => {
      const child = new Child("approval.mjs", [database, journal, "run"]);
      const line = await child.until(({ event }) => event === "run");
      await child.end();
      return line;
    })();

    // Nobody has answered yet, however often the program is started.
    for (let start = 0; start < 2; start++) {
      const [run] = (await new Child("approval.mjs", [database, journal, "recover"]).end()) as RecoveredRun[];
      expect(run).toMatchObject({ runId, outcome: "waiting", nodes: ["approve"] });
    }
    expect(ran(journal)).toEqual(["draft"]);

    // The process is killed while it asks, and again while the effect happens.
    const asking = new Child("approval.mjs", [database, journal, "recover", answer], { STOP_AT: "ask" });
    await asking.until(({ event }) => event === "stopped");
    expect(await asking.kill()).toBe("SIGKILL");
    expect(ran(journal)).toEqual(["draft"]);
    const acting = new Child("approval.mjs", [database, journal, "recover", answer], { STOP_AT: effect });
    await acting.until(({ event }) => event === "stopped");
    expect(await acting.kill()).toBe("SIGKILL");

    // The answer was stored before the effect: it is not asked for again.
    const last = new Child("approval.mjs", [database, journal, "recover"]);
    const [run] = (await last.end()) as RecoveredRun[];
    expect(run).toMatchObject({ runId, outcome: "finished", output: { approve: { approved: false } } });
    expect(last.lines.filter(({ event }) => event === "asked")).toEqual([]);
    // AgentOS saves no checkpoint in a resumed run, so the node that was killed ran again.
    expect(ran(journal)).toEqual(["draft", effect, effect]);

    expect(await new Child("approval.mjs", [database, journal, "recover", answer]).end()).toEqual([]);
    expect(ran(journal)).toEqual(["draft", effect, effect]);
  });

  it("a run that kills its process is given up, and its neighbours are finished", { timeout: 120_000 }, async () => {
    const [database, journal] = place();
    const ids: string[] = [];
    for (let run = 0; run < 4; run++) {
      const child = new Child("approval.mjs", [database, journal, "run"]);
      ids.push((await child.until(({ event }) => event === "run"))["runId"] as string);
      await child.end();
    }
    const poison = ids[1]!;
    const recover = () => new Child("approval.mjs", [database, journal, "recover", "yes"], { POISON: poison });
    let [kills, last] = [0, recover()];
    for (; (await last.exit()) !== 0; kills++, last = recover()) expect(kills).toBeLessThan(10);
    // One process that tried all four, and three that tried the run alone.
    expect(kills).toBe(4);
    const [run, ...others] = (await last.end()) as RecoveredRun[];
    expect([run, others]).toMatchObject([{ runId: poison, outcome: "gave up", crashes: 3 }, []]);
    expect((run as { message: string }).message).toContain(`{ runs: ["${poison}"], maxAttempts: 4 }`);
    const store = open(database);
    const { runs } = await store.runs();
    const left = runs.filter(({ status }) => status !== "finished").map(({ runId }) => runId);
    expect(left).toEqual([poison]);
    expect(ran(journal).filter((effect) => effect === "refund")).toHaveLength(3);
  });

  it("a process that exits without an error during a recovery has not crashed", { timeout: 60_000 }, async () => {
    const [database, journal] = place();
    await new Child("approval.mjs", [database, journal, "run"]).end();
    const exit = (EXIT: string) =>
      new Child("approval.mjs", [database, journal, "recover", "yes"], { EXIT_AT: "refund", EXIT }).exit();
    for (let stop = 0; stop < 4; stop++) expect(await exit("0")).toBe(0);
    for (let crash = 0; crash < 3; crash++) expect(await exit("1")).toBe(1);
    expect(ran(journal).filter((effect) => effect === "refund")).toHaveLength(7);
    const [run] = (await new Child("approval.mjs", [database, journal, "recover", "yes"]).end()) as RecoveredRun[];
    expect(run).toMatchObject({ outcome: "gave up", crashes: 3 });
  });

  it("two processes that start at once recover a run once", { timeout: 60_000 }, async () => {
    const [database, journal] = place();
    await new Child("approval.mjs", [database, journal, "run"]).end();
    const both = [1, 2].map(() => new Child("approval.mjs", [database, journal, "recover", "yes"]).end());
    const outcomes = ((await Promise.all(both)) as RecoveredRun[][]).flat().map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "finished")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome !== "finished" && outcome !== "elsewhere")).toEqual([]);
    expect(ran(journal)).toEqual(["draft", "refund"]);
  });
});
