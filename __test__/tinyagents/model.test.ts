// Makes random sequences of operations on a checkpointer and on a model. After each operation, both must answer alike.
// @module-tag slow
import { type PendingWrite } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { durable, kinds, rejection } from "../helpers.js";
import { type Kind, idsOf, make } from "./helpers.js";
import { Model, type Row } from "./model.js";
import { randomNumbers, seed } from "./random.js";

/** `FORKPOINT_TEST_SEQUENCES` sets the number. On a server each call is a round trip. */
const SEQUENCES = Number(process.env["FORKPOINT_TEST_SEQUENCES"] ?? (durable === "postgres" ? 10 : 15));
const OPERATIONS = 30;

// Few names, so that operations meet. One thread's name is the beginning of another's.
const threads = ["1", "1:a", "b"];
const namespaces = [[], ["n"], ["n", "n"]];
const checkpointIds = ["a", "b", "c", "d", "e", "f"];
const runs = ["r1", "r2", null];

/** Makes random choices of one sequence. The names of its threads begin with a prefix of its own. */
function chooser(sequence: number) {
  const random = randomNumbers(sequence);
  const below = (count: number) => Math.floor(random() * count);
  const one = <T>(list: readonly T[]): T => list[below(list.length)]!;
  let made = 0;
  const place = () => ({
    threadId: `${sequence}/${one(threads)}`,
    namespace: one(namespaces),
    checkpointId: one(checkpointIds),
  });
  const writes = (): PendingWrite[] =>
    Array.from({ length: 1 + below(3) }, () => {
      made += 1;
      return { node: one(["x", "y"]), taskId: one(["t1", "t2"]), idx: below(5) - 2, channel: "c", payload: made };
    });
  const row = (): Row => {
    made += 1;
    const { threadId, namespace, checkpointId } = place();
    return {
      threadId,
      namespace,
      checkpointId,
      parentCheckpointId: one([null, ...checkpointIds]),
      runId: one(runs),
      state: made,
      pendingWrites: below(3) === 0 ? writes() : [],
      dependsOnParent: below(3) === 0,
    };
  };
  return { below, one, place, writes, row };
}

type Chooser = ReturnType<typeof chooser>;
type Store = ReturnType<typeof make>;

/** Makes one random operation on both, and expects the same result. Writes it to the log before. */
async function operate(
  { below, one, place, writes, row }: Chooser,
  store: Store,
  model: Model,
  log: unknown[][],
): Promise<void> {
  const { threadId } = place();
  const choice = below(100);
  if (choice < 50) {
    // A deletion by run must not divide the checkpoints of an id, because their writes are those of the id.
    const given = row();
    const earlier = model.get(given.threadId, given.checkpointId, given.namespace);
    if (earlier !== null) given.runId = earlier.runId;
    log.push(["put", given]);
    await store.put(given);
    model.put(given);
    return;
  }
  if (choice < 75) {
    const [config, given] = [place(), writes()];
    log.push(["putWrites", config, given]);
    const refused = await store.putWrites(config, given).then(
      () => undefined,
      (error: { code?: string }) => error,
    );
    if (refused === undefined) model.putWrites(config, given);
    else {
      // A checkpoint that the store has put, and that is gone, gets no writes.
      expect(refused.code).toBe("CONFLICT");
      expect(model.get(config.threadId, config.checkpointId, config.namespace)).toBe(null);
    }
    return;
  }
  if (choice < 80) {
    const ids = [one(checkpointIds), one(checkpointIds)];
    log.push(["deleteCheckpoints", threadId, ids]);
    expect(await store.deleteCheckpoints(threadId, ids)).toBe(model.deleteCheckpoints(threadId, ids));
    return;
  }
  if (choice < 84) {
    const runId = one(runs);
    log.push(["deleteByRun", threadId, runId]);
    expect(await store.deleteByRun(threadId, runId)).toBe(model.deleteByRun(threadId, runId));
    return;
  }
  if (choice < 87) {
    log.push(["deleteThread", threadId]);
    await store.deleteThread(threadId);
    model.deleteThread(threadId);
    return;
  }
  if (choice < 92) {
    const target = place().threadId;
    // A target is seldom empty by itself. An empty target may have writes to checkpoints that were never put, which a
    // copy would meet.
    if (below(2) === 0 || model.list(target).length === 0) {
      log.push(["deleteThread", target]);
      await store.deleteThread(target);
      model.deleteThread(target);
    }
    log.push(["copyThread", threadId, target]);
    if (model.copyThread(threadId, target)) await store.copyThread(threadId, target);
    else expect((await rejection(store.copyThread(threadId, target))).code).toBe("CONFLICT");
    return;
  }
  const [keepLast, protect] = [below(4), one(["ancestors", "dependencies"] as const)];
  log.push(["prune", threadId, keepLast, protect]);
  const planned = await store.prune(threadId, keepLast, { protect, dryRun: true });
  const removed = await store.prune(threadId, keepLast, { protect });
  expect([planned, removed]).toEqual([removed, model.prune(threadId, keepLast, protect)]);
}

/** The fields of a checkpoint that the model has. */
function shown(row: Row | null): object | null {
  if (row === null) return null;
  const { threadId, namespace, checkpointId, parentCheckpointId, runId, state, pendingWrites } = row;
  return { threadId, namespace, checkpointId, parentCheckpointId, runId, state, pendingWrites };
}

/** The fields that a list has of a checkpoint. */
const brief = ({
  namespace,
  checkpointId,
  parentCheckpointId,
  runId,
}: Omit<Row, "state" | "pendingWrites" | "dependsOnParent">) => ({
  namespace,
  checkpointId,
  parentCheckpointId,
  runId,
});

/** Expects that both know the same threads of this sequence, and answer every read of them alike. */
async function compare(sequence: number, store: Store, model: Model): Promise<void> {
  const known = (await store.listThreads()).filter((threadId) => threadId.startsWith(`${sequence}/`));
  expect(known).toEqual(model.listThreads());
  for (const threadId of known) {
    const rows = model.list(threadId);
    expect((await store.list(threadId)).map(brief)).toEqual(rows.map(brief));
    // Without a namespace, the checkpoint may be in any of them.
    for (const namespace of [undefined, ...namespaces]) {
      expect(shown((await store.get(threadId, null, namespace)) as Row | null)).toEqual(
        shown(model.get(threadId, null, namespace)),
      );
      const history = model.stateHistory(threadId, namespace);
      expect(idsOf(await store.stateHistory(threadId, namespace))).toEqual(idsOf(history));
    }
    for (const checkpointId of checkpointIds) {
      const row = model.get(threadId, checkpointId);
      expect(shown((await store.get(threadId, checkpointId)) as Row | null)).toEqual(shown(row));
      const tuple = await store.getTuple({ threadId, checkpointId });
      expect(tuple && tuple.config).toEqual(row && { threadId, checkpointId, namespace: row.namespace });
      expect(await store.getWrites({ threadId, checkpointId })).toEqual(row === null ? [] : model.getWrites(row));
    }
    const places = new Map(rows.map((row) => [JSON.stringify([row.namespace, row.checkpointId]), row]));
    for (const { namespace, checkpointId } of places.values()) {
      const row = model.get(threadId, checkpointId, namespace)!;
      const { parentCheckpointId } = row;
      const writes = model.getWrites(row);
      const found = await store.get(threadId, checkpointId, namespace);
      expect(shown(found as Row | null)).toEqual(shown(row));
      expect(await store.getWrites({ threadId, checkpointId, namespace })).toEqual(writes);
      expect(await store.getTuple({ threadId, checkpointId, namespace })).toEqual({
        config: { threadId, checkpointId, namespace },
        checkpoint: found,
        parentConfig: parentCheckpointId === null ? null : { threadId, checkpointId: parentCheckpointId, namespace },
        pendingWrites: writes.length > 0 ? writes : row.pendingWrites,
      });
    }
  }
}

describe.each(kinds)("on %s", (kind: Kind) => {
  it(`${SEQUENCES} random sequences give what the model gives`, { timeout: 300_000 }, async () => {
    const store = make(kind, { durability: "off" });
    for (let sequence = 0; sequence < SEQUENCES; sequence++) {
      const [choose, model] = [chooser(sequence), new Model()];
      const log: unknown[][] = [];
      try {
        for (let n = 0; n < OPERATIONS; n++) {
          await operate(choose, store, model, log);
          await compare(sequence, store, model);
        }
      } catch (error) {
        const operations = log.map((operation) => JSON.stringify(operation)).join("\n");
        throw new Error(`FORKPOINT_TEST_SEED=${seed}, sequence ${sequence}, after:\n${operations}`, { cause: error });
      }
      // Keep the listing of threads short.
      for (const threadId of model.listThreads()) await store.deleteThread(threadId);
    }
    expect(await store.listThreads()).toEqual([]);
  });
});
