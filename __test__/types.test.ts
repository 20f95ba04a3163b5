import * as main from "forkpoint";
import type {
  Checkpoint,
  CheckpointMetadata,
  EffectClass,
  ErrorCode,
  ICheckpointStore,
  PruneProgress,
  PruneResult,
  ResumePlan,
  RunInfo,
  RunPruneResult,
  RunsPage,
  Serializer,
  StatePartitions,
  StoreOptions,
  StoreStats,
} from "forkpoint";
import * as agentos from "forkpoint/agentos";
import type { Checkpoint as AgentosCheckpoint } from "forkpoint/agentos";
import { describe, expect, expectTypeOf, test } from "vitest";

describe("what is exported", () => {
  test("forkpoint", () => {
    expect(Object.keys(main).toSorted()).toEqual([
      "CheckpointStore",
      "ContractStore",
      "ForkpointError",
      "RunStore",
      "Store",
      "copyStore",
      "describe",
      "isForkpointError",
      "once",
      "openStore",
      "postgresSchema",
      "recover",
      "resumePlan",
      "withEffects",
    ]);
  });

  test("forkpoint/agentos", () => {
    expect(Object.keys(agentos).toSorted()).toEqual([
      "CheckpointStore",
      "describe",
      "once",
      "recover",
      "resumePlan",
      "withEffects",
    ]);
    for (const name of Object.keys(agentos) as Array<keyof typeof agentos>) expect(main[name]).toBe(agentos[name]);
  });

  test("the members of an error", () => {
    const error = new main.ForkpointError("BUSY", "message", { outcome: "unknown" });
    for (const key of ["name", "code", "retryable", "outcome"] as const) expect(error[key]).toBeDefined();
  });

  test("nothing of a store is reachable from outside", () => {
    const store = new main.CheckpointStore("memory:");
    expect(Reflect.ownKeys(store)).toEqual([]);
    expect(JSON.stringify(store)).toBe("{}");
  });
});

// Tested by the compiler: `npx tsc -p __test__ --noEmit`. The code below never runs.
describe("types", () => {
  test("are the contract's", () => {
    expectTypeOf<main.CheckpointStore>().toExtend<ICheckpointStore>();
    expectTypeOf<main.CheckpointStore>().toExtend<AsyncDisposable>();
    expectTypeOf<main.Store>().toExtend<AsyncDisposable>();
    expectTypeOf<main.ForkpointError>().toExtend<Error>();
    expectTypeOf<AgentosCheckpoint>().toEqualTypeOf<Checkpoint>();
    expectTypeOf<RunInfo["latest"]>().toEqualTypeOf<CheckpointMetadata>();
    expectTypeOf<RunsPage["runs"]>().toEqualTypeOf<RunInfo[]>();
    expectTypeOf<RunsPage["cursor"]>().toEqualTypeOf<string | null>();
    expectTypeOf(main.resumePlan).returns.toEqualTypeOf<ResumePlan>();
    expectTypeOf(main.openStore).returns.toEqualTypeOf<Promise<main.Store>>();
    expectTypeOf<main.ForkpointError["code"]>().toEqualTypeOf<ErrorCode>();
    expectTypeOf<main.ForkpointError["name"]>().toEqualTypeOf<"ForkpointError">();
    expectTypeOf<EffectClass>().toEqualTypeOf<"pure" | "read" | "write" | "external" | "human">();
    expectTypeOf<StoreOptions["serializer"]>().toEqualTypeOf<"v8" | "json" | Serializer | undefined>();
    // The test runner needs one assertion. It does not check types.
    expect(typeof uses).toBe("function");
  });
});

/** Code that must compile, and code that must not. */
async function uses(store: main.CheckpointStore, whole: Checkpoint, shared: main.Store): Promise<void> {
  expectTypeOf(await store.save(whole)).toEqualTypeOf<void>();
  expectTypeOf(await store.get("id")).toEqualTypeOf<Checkpoint | null>();
  expectTypeOf(await store.load("run", "node")).toEqualTypeOf<Checkpoint | null>();
  expectTypeOf(await store.latest("run")).toEqualTypeOf<Checkpoint | null>();
  expectTypeOf(await store.list("graph", { limit: 1, runId: "run" })).toEqualTypeOf<CheckpointMetadata[]>();
  expectTypeOf(await store.listByRun("run", { limit: 1 })).toEqualTypeOf<CheckpointMetadata[]>();
  expectTypeOf(await store.fork("id", { scratch: { a: 1 } })).toEqualTypeOf<string>();
  expectTypeOf(await store.runs({ graphIdPrefix: "g", limit: 1, cursor: null })).toEqualTypeOf<RunsPage>();
  expectTypeOf(
    await store.prune({ olderThan: new Date(), keepLastN: null, dryRun: true }),
  ).toEqualTypeOf<RunPruneResult>();
  expectTypeOf(await shared.prune({ signal: AbortSignal.abort(), onProgress: () => {} })).toEqualTypeOf<PruneResult>();
  expectTypeOf((await store.stats()).largest[0]!.runId).toEqualTypeOf<string>();
  expectTypeOf(await shared.stats()).toEqualTypeOf<StoreStats>();
  expectTypeOf(await shared.vacuum()).toEqualTypeOf<void>();
  // @ts-expect-error -- ttlMs is an option of the store; prune() has olderThan
  await store.prune({ ttlMs: 1 });
  expectTypeOf<RunPruneResult>().toEqualTypeOf<{ removed: number; bytes: number; runs: number }>();
  await store.prune({ onProgress: (progress) => expectTypeOf(progress).toEqualTypeOf<RunPruneResult>() });
  await shared.prune({ onProgress: (progress) => expectTypeOf(progress).toEqualTypeOf<PruneProgress>() });
  const error: unknown = new Error();
  if (main.isForkpointError(error)) {
    expectTypeOf(error.code).toEqualTypeOf<ErrorCode>();
    expectTypeOf(error.retryable).toEqualTypeOf<boolean>();
    if (error.name !== "ForkpointError") expectTypeOf(error.message).toEqualTypeOf<string>();
  }
  void [new main.CheckpointStore(shared), new main.CheckpointStore(new URL("file:///a.db"), { durability: "off" })];

  // @ts-expect-error -- an id must be a string
  await store.get(1);
  // @ts-expect-error -- a node id must not be null
  await store.load("run", null);
  // @ts-expect-error -- the checkpoint lacks fields
  await store.save({ id: "a", graphId: "g", runId: "r", nodeId: "n", timestamp: 1 });
  // @ts-expect-error -- a timestamp must be a number
  await store.save({ ...whole, timestamp: new Date() });
  // @ts-expect-error -- a limit must be a number
  await store.list("graph", { limit: "1" });
  // @ts-expect-error -- listByRun() has no option runId
  await store.listByRun("run", { runId: "run" });
  // @ts-expect-error -- memory is not a partition of the state
  await store.fork("id", { memory: {} });
  // @ts-expect-error -- an unknown option
  await store.runs({ runId: "run" });
  // @ts-expect-error -- a misspelt option
  void new main.CheckpointStore("a.db", { durabilty: "full" });
  // @ts-expect-error -- an unknown value of an option
  void new main.CheckpointStore("a.db", { durability: "fast" });
  // @ts-expect-error -- a serializer must have a name
  void new main.CheckpointStore("a.db", { serializer: { serialize: Buffer.from, deserialize: String } });
  // @ts-expect-error -- a target must be a string, a URL or a store
  void new main.CheckpointStore(1);
  // @ts-expect-error -- openStore() does not take an open store
  await main.openStore(shared);
  // @ts-expect-error -- a Store can only be made by openStore()
  void new main.Store();
  // @ts-expect-error -- an unknown error code
  void new main.ForkpointError("WRONG", "message");
  // @ts-expect-error -- the result can be null
  void (await store.get("id")).id;
  // @ts-expect-error -- an error's code is read-only
  new main.ForkpointError("BUSY", "message").code = "FULL";

  const own: ICheckpointStore = store;
  const partial: Partial<StatePartitions> = { input: 1 };
  void [own, partial];
}
