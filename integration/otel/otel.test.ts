// Tests `forkpoint/otel` with the SDK of OpenTelemetry.
import { readFileSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tracingChannel } from "node:diagnostics_channel";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SpanKind, SpanStatusCode, context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import type { Histogram } from "@opentelemetry/sdk-metrics";
import { type CallContext, CheckpointStore, openStore } from "forkpoint";
import { ForkpointStorage, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { openInspector } from "forkpoint/inspect";
import { type InstrumentOptions, instrument } from "forkpoint/otel";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { SECRET, checkpoint, folder, metering, open, rejection, tracing } from "./helpers.js";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** Instruments until the running test ends. */
function instrumented(options: InstrumentOptions): () => void {
  const stop = instrument(options);
  onTestFinished(stop);
  return stop;
}

/** Records with providers of its own until the running test ends. */
function recorded() {
  const [traces, meters] = [tracing(), metering()];
  instrumented({ tracerProvider: traces.provider, meterProvider: meters.provider });
  return { tracerProvider: traces.provider, spans: traces.spans, measured: meters.measured };
}

const targets = {
  memory: () => "memory:",
  sqlite: () => join(folder(), "agent.db"),
  jsonl: () => `jsonl:${join(folder(), "runs")}`,
};

describe("spans", () => {
  it.each(["memory", "sqlite", "jsonl"] as const)("of a store of kind %s", async (kind) => {
    const { spans } = recorded();
    const store = open(targets[kind]());
    await store.save(checkpoint("c1"));
    await store.latest("run-1");
    await store.get("none");
    await store.prune({ keepLastN: 1 });
    const named = (name: string) => spans().filter((span) => span.name === name);
    for (const span of spans()) {
      expect(span.kind).toBe(SpanKind.INTERNAL);
      expect(span.instrumentationScope).toMatchObject({ name: "forkpoint", version });
      expect(span.status.code).toBe(SpanStatusCode.UNSET);
      expect(span.ended).toBe(true);
      expect(span.attributes["db.system.name"]).toBe(kind);
    }
    const system = { "db.system.name": kind };
    expect(named("forkpoint.open").map(({ attributes }) => attributes)).toEqual([
      { ...system, "db.operation.name": "open" },
    ]);
    expect(named("forkpoint.save").map(({ attributes }) => attributes)).toEqual([
      {
        ...system,
        "db.operation.name": "save",
        "forkpoint.space": "agentos",
        "forkpoint.run.id": "run-1",
        "gen_ai.conversation.id": "run-1",
        "forkpoint.checkpoint.id": "c1",
        "forkpoint.checkpoint.size": expect.any(Number),
      },
    ]);
    const size = named("forkpoint.save")[0]!.attributes["forkpoint.checkpoint.size"];
    expect(size).toBeGreaterThan(SECRET.length);
    expect(named("forkpoint.read").map(({ attributes }) => attributes)).toEqual([
      {
        ...system,
        "db.operation.name": "load",
        "forkpoint.space": "agentos",
        "forkpoint.run.id": "run-1",
        "gen_ai.conversation.id": "run-1",
        "forkpoint.checkpoint.size": size,
      },
      {
        ...system,
        "db.operation.name": "get",
        "forkpoint.space": "agentos",
        "forkpoint.checkpoint.id": "none",
        "forkpoint.checkpoint.size": 0,
      },
    ]);
    expect(named("forkpoint.prune").map(({ attributes }) => attributes)).toEqual([
      { ...system, "db.operation.name": "prune", "forkpoint.space": "agentos" },
    ]);
    expect(spans()).toHaveLength(5);
  });

  it("of each contract have its space", async () => {
    const { spans } = recorded();
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    const workflows = new WorkflowCheckpointStore<object>(store);
    await workflows.save({ id: "w", runId: "w", stepIndex: 0, stepName: "s", state: { SECRET }, createdAt: 0 });
    await new ForkpointStorage(store).set("ns", "key", SECRET);
    await new SessionStore(store).createSession("session", { agentType: "a", initialState: { SECRET } });
    await new Checkpointer(store).put({ threadId: "thread", state: SECRET });
    const saves = spans().filter(({ name }) => name === "forkpoint.save");
    const seen = saves.map(({ attributes }) => [attributes["forkpoint.space"], attributes["forkpoint.run.id"]]);
    expect(seen).toEqual([
      ["agentium", "w"],
      ["storage", "key"],
      ["helix", "session"],
      ["tinyagents", "thread"],
    ]);
    expect(JSON.stringify(saves.map(({ attributes }) => attributes))).not.toContain(SECRET);
  });

  it("of a failure have its code", async () => {
    const { spans } = recorded();
    const store = open("memory:");
    const error = await rejection(store.fork("none"));
    const span = spans().find(({ name }) => name === "forkpoint.save");
    expect(span!.status).toEqual({ code: SpanStatusCode.ERROR, message: error.message });
    expect(span!.attributes).toMatchObject({ "db.operation.name": "fork", "error.type": "NOT_FOUND" });
  });

  it.each([
    ["127.0.0.1:1", { "server.address": "127.0.0.1", "server.port": 1 }],
    ["127.0.0.1:1,localhost:2", { "server.address": "127.0.0.1,localhost" }],
    ["[::1]:1", { "server.address": "::1", "server.port": 1 }],
  ])("of a server are those of a client, and have its address and no password: %s", async (hosts, server) => {
    const { spans } = recorded();
    const error = await rejection(openStore(`postgres://user:${SECRET}@${hosts}/agents`, { busyTimeoutMs: 20 }));
    expect(error.code).toBe("UNAVAILABLE");
    const [span] = spans();
    expect([span!.name, span!.kind]).toEqual(["forkpoint.open", SpanKind.CLIENT]);
    expect(span!.attributes).toEqual({
      "db.system.name": "postgresql",
      "db.operation.name": "open",
      "error.type": "UNAVAILABLE",
      ...server,
    });
    expect(JSON.stringify([span!.attributes, span!.status, span!.events])).not.toContain(SECRET);
  });

  it("have the active span as parent, also of calls that run at the same time", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    onTestFinished(() => context.disable());
    const { tracerProvider, spans } = recorded();
    const store = open(targets.sqlite());
    await store.latest("none");
    const tracer = tracerProvider.getTracer("agent");
    await Promise.all(
      ["a", "b", "c"].map((id) =>
        tracer.startActiveSpan(id, async (span) => {
          await store.save(checkpoint(id, { runId: id }));
          // What follows in the caller is no child of the save.
          await new Promise((resolve) => setImmediate(resolve));
          tracer.startSpan(`after ${id}`).end();
          span.end();
        }),
      ),
    );
    const ids = Object.fromEntries(spans().map((span) => [span.name, span.spanContext().spanId]));
    const saves = spans().filter(({ name }) => name === "forkpoint.save");
    expect(saves).toHaveLength(3);
    for (const span of saves) {
      const id = span.attributes["forkpoint.run.id"] as string;
      expect(span.parentSpanContext?.spanId).toBe(ids[id]);
      expect(spans().find(({ name }) => name === `after ${id}`)!.parentSpanContext?.spanId).toBe(ids[id]);
    }
    const read = spans().find(({ name }) => name === "forkpoint.read");
    expect(read!.parentSpanContext).toBeUndefined();
  });
});

describe("metrics", () => {
  it("have names, units and attributes, and no ids", async () => {
    const { measured } = recorded();
    const store = open(targets.sqlite());
    for (let n = 0; n < 5; n++) await store.save(checkpoint(`c${n}`, { timestamp: n }));
    await store.latest("run-1");
    await rejection(store.fork("none"));
    await store.prune({ keepLastN: 2, dryRun: true });
    await store.prune({ keepLastN: 2 });

    const found = await measured();
    const summary = Object.fromEntries(
      Object.entries(found).map(([name, { descriptor, scope, dataPoints }]) => {
        expect(scope).toMatchObject({ name: "forkpoint", version });
        expect(descriptor.description).not.toBe("");
        const points = dataPoints.map(({ attributes, value }) => {
          const count = typeof value === "number" ? value : (value as Histogram).count;
          return [attributes, count];
        });
        return [name, { unit: descriptor.unit, points }];
      }),
    );
    const call = (operation: string, space: string | null, error?: string) => ({
      "db.system.name": "sqlite",
      "db.operation.name": operation,
      ...(space !== null && { "forkpoint.space": space }),
      ...(error !== undefined && { "error.type": error }),
    });
    const agentos = { "forkpoint.space": "agentos" };
    expect(summary).toEqual({
      "db.client.operation.duration": {
        unit: "s",
        points: expect.arrayContaining([
          [call("open", null), 1],
          [call("save", "agentos"), 5],
          [call("load", "agentos"), 1],
          [call("fork", "agentos", "NOT_FOUND"), 1],
          [call("prunable", "agentos"), 1],
          [call("prune", "agentos"), 1],
        ]),
      },
      "forkpoint.checkpoint.size": { unit: "By", points: [[agentos, 5]] },
      "forkpoint.commit.batch": { unit: "{save}", points: [[agentos, 5]] },
      "forkpoint.pruned": { unit: "{checkpoint}", points: [[agentos, 3]] },
    });
    expect(summary["db.client.operation.duration"]!.points).toHaveLength(7);
    const durations = found["db.client.operation.duration"]!.dataPoints.map(({ value }) => value as Histogram);
    for (const { sum, buckets } of durations) {
      expect(sum).toBeGreaterThan(0);
      expect(buckets.boundaries).toEqual([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]);
    }
    const { sum, buckets } = found["forkpoint.checkpoint.size"]!.dataPoints[0]!.value as Histogram;
    expect(sum! / 5).toBeGreaterThan(SECRET.length);
    expect([buckets.boundaries[0], buckets.boundaries.at(-1)]).toEqual([256, 64 * 2 ** 20]);
    const batches = found["forkpoint.commit.batch"]!.dataPoints[0]!.value as Histogram;
    expect(batches.sum).toBeGreaterThanOrEqual(5);
    expect(batches.buckets.boundaries).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
  });

  it("count what retention deletes in the background", async () => {
    const { measured } = recorded();
    const store = open("memory:", { ttlMs: 1 });
    await store.save(checkpoint("c1"));
    // A sweep begins a second after the last one.
    await sleep(1_100);
    await store.save(checkpoint("c2"));
    await expect.poll(async () => (await measured())["forkpoint.swept"]).toBeDefined();
    const found = await measured();
    expect(found["forkpoint.swept"]!.dataPoints[0]!.value).toBeGreaterThan(0);
    expect(found["forkpoint.sweep.time"]!.dataPoints[0]!.value).toBeGreaterThan(0);
    expect(found["forkpoint.sweep.time"]!.descriptor.unit).toBe("s");
  });

  it("show how many runs the last version of a program cannot continue", async () => {
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    const start = async (names: string[], runId: string) => {
      const steps = names.map((name) => ({
        name,
        run: () => {
          if (name === "b") throw new Error("a crash");
        },
      }));
      const checkpointStore = new WorkflowCheckpointStore<object>(store);
      const workflow = new Workflow<object>({
        name: "order",
        steps,
        initialState: {},
        checkpointStore,
        register: false,
      });
      await workflow.runWithCheckpoints({ runId }).catch(() => {});
    };
    const { measured } = recorded();
    const inspector = await openInspector(store);
    const last = async () => {
      await inspector.stranded();
      const { descriptor, dataPoints } = (await measured())["forkpoint.runs.stranded"]!;
      return [descriptor.unit, dataPoints.map(({ attributes, value }) => [attributes, value])];
    };
    const attributes = { "forkpoint.space": "agentium", "forkpoint.program": "order" };
    await start(["a", "b"], "run-1");
    expect(await last()).toEqual(["{run}", [[attributes, 0]]]);
    await start(["a", "c"], "run-2");
    expect(await last()).toEqual(["{run}", [[attributes, 1]]]);
    await new WorkflowCheckpointStore(store).clear("run-1");
    expect(await last()).toEqual(["{run}", [[attributes, 0]]]);
  });

  it("count reads that find damage", async () => {
    const file = join(folder(), "agent.db");
    const before = new CheckpointStore(file);
    await before.save(checkpoint("c1", { state: { scratch: { text: "needle", noise: randomBytes(4_000) } } as never }));
    await before.close();
    const bytes = readFileSync(file);
    bytes[bytes.indexOf("needle")]! ^= 1;
    writeFileSync(file, bytes);
    const { measured, spans } = recorded();
    const store = open(file);
    for (let n = 0; n < 2; n++) expect((await rejection(store.get("c1"))).code).toBe("CORRUPT");
    const { descriptor, dataPoints } = (await measured())["forkpoint.corrupt"]!;
    expect(descriptor.unit).toBe("{read}");
    expect(dataPoints).toMatchObject([{ attributes: { "forkpoint.space": "agentos" }, value: 2 }]);
    const read = spans().filter(({ name }) => name === "forkpoint.read");
    expect(read.map(({ attributes }) => attributes["error.type"])).toEqual(["CORRUPT", "CORRUPT"]);
  });
});

describe("instrument()", () => {
  const save = (id: string) => open("memory:").save(checkpoint(id));
  const saves = (traces: ReturnType<typeof tracing>) =>
    traces.spans().filter(({ name }) => name === "forkpoint.save").length;

  it("twice with the same providers records once, until both have stopped", async () => {
    const [traces, meters] = [tracing(), metering()];
    const options = { tracerProvider: traces.provider, meterProvider: meters.provider };
    const [first, second] = [instrumented(options), instrumented({ ...options })];
    await save("a");
    expect(saves(traces)).toBe(1);
    first();
    first();
    await save("b");
    expect(saves(traces)).toBe(2);
    second();
    await save("c");
    expect(saves(traces)).toBe(2);
    const sizes = (await meters.measured())["forkpoint.checkpoint.size"]!.dataPoints;
    expect(sizes.map(({ value }) => (value as Histogram).count)).toEqual([2]);
    for (const kind of ["open", "save", "read", "prune"]) {
      expect(tracingChannel(`forkpoint:${kind}`).hasSubscribers).toBe(false);
    }
    // It can begin again.
    instrumented(options);
    await save("d");
    expect(saves(traces)).toBe(3);
  });

  it("with two providers records with each", async () => {
    const [one, two] = [tracing(), tracing()];
    const stop = instrumented({ tracerProvider: one.provider });
    instrumented({ tracerProvider: two.provider });
    await save("a");
    stop();
    await save("b");
    expect([saves(one), saves(two)]).toEqual([1, 2]);
  });

  it("stopped during a call does not record it", async () => {
    const { provider, spans } = tracing();
    const stop = instrumented({ tracerProvider: provider });
    const store = open(join(folder(), "agent.db"));
    const saving = store.save(checkpoint("a"));
    stop();
    await saving;
    expect(spans()).toEqual([]);
    const again = instrumented({ tracerProvider: provider });
    const saved = store.save(checkpoint("b"));
    again();
    instrumented({ tracerProvider: provider });
    await saved;
    expect(spans()).toEqual([]);
  });

  it("without an SDK records nothing, and costs no save", async () => {
    instrumented({});
    const ended: CallContext[] = [];
    const hear = (context: unknown) => void ended.push(context as CallContext);
    const { asyncEnd } = tracingChannel("forkpoint:save");
    asyncEnd.subscribe(hear);
    onTestFinished(() => void asyncEnd.unsubscribe(hear));
    const [store, ids] = [open("memory:"), ["a", "b", "c"]];
    for (const id of ids) await store.save(checkpoint(id));
    // Each save ended once, without an error, in a commit of its own.
    expect(ended.map(({ id, error, batch }) => [id, error, batch])).toEqual(ids.map((id) => [id, undefined, 1]));
    for (const id of ids) expect(await store.get(id)).toEqual(checkpoint(id));
    expect((await store.stats()).checkpoints).toBe(ids.length);
    // An SDK that is set up later gets nothing of what came before.
    const [traces, meters] = [tracing(), metering()];
    trace.setGlobalTracerProvider(traces.provider);
    metrics.setGlobalMeterProvider(meters.provider);
    onTestFinished(() => {
      trace.disable();
      metrics.disable();
    });
    expect([traces.spans(), await meters.measured()]).toEqual([[], {}]);
    await store.save(checkpoint("after"));
    expect(saves(traces)).toBe(1);
    const { dataPoints } = (await meters.measured())["forkpoint.checkpoint.size"]!;
    expect(dataPoints.map(({ value }) => (value as Histogram).count)).toEqual([1]);
  });

  it.each([
    [null, /options must be an object/],
    [{ tracer: 1 }, /Unknown option "tracer".*tracerProvider/],
    [{ tracerProvider: {} }, /"tracerProvider" must be a provider of OpenTelemetry, with the method getTracer\(\)/],
    [{ meterProvider: null }, /"meterProvider" must be a provider of OpenTelemetry, with the method getMeter\(\)/],
    [{ tracerProvider: metrics.getMeterProvider() }, /"tracerProvider"/],
  ])("refuses %j", (options, message) => {
    expect(() => instrument(options as never)).toThrow(
      expect.objectContaining({ name: "TypeError", code: "INVALID_ARGUMENT", message: expect.stringMatching(message) }),
    );
    expect(tracingChannel("forkpoint:save").hasSubscribers).toBe(false);
  });
});
