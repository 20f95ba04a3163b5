// Tests the package's types under strict. Code that `tsc` accepts here is code that users of AgentOS can write.
import type {
  Checkpoint as TheirCheckpoint,
  CheckpointMetadata as TheirMetadata,
  ICheckpointStore as TheirStore,
} from "@framers/agentos/orchestration/checkpoint";
import {
  type Checkpoint,
  type CheckpointMetadata,
  CheckpointStore,
  type ICheckpointStore,
  type StatePartitions,
  resumePlan,
} from "forkpoint";
import { CheckpointStore as FromSubpath } from "forkpoint/agentos";
import { expect, expectTypeOf, it } from "vitest";
import { InMemoryCheckpointStore } from "./framework.js";
import { open } from "./harness.js";

type TheirState = NonNullable<Parameters<TheirStore["fork"]>[1]>;
type TheirResult = TheirCheckpoint["nodeResults"][string];

const theirs: TheirCheckpoint = {
  id: "checkpoint",
  graphId: "graph-types-1",
  runId: "run",
  nodeId: "node",
  timestamp: 1,
  state: {
    input: { question: "?" },
    scratch: { notes: ["a", "b"] },
    artifacts: {},
    diagnostics: {
      totalTokensUsed: 0,
      totalDurationMs: 0,
      nodeTimings: { node: { startMs: 1, endMs: 2, tokensUsed: 3 } },
      discoveryResults: {},
      guardrailResults: {},
      checkpointsSaved: 0,
      memoryReads: 0,
      memoryWrites: 0,
    },
  },
  memorySnapshot: {
    reads: [{ traceId: "trace", content: "seen", strength: 0.5 }],
    pendingWrites: [{ type: "episodic", content: "to keep", scope: "session" }],
  },
  nodeResults: { node: { effectClass: "write", output: 7, durationMs: 1 } },
  visitedNodes: ["node"],
  skippedNodes: [],
  pendingEdges: [],
};

it("a CheckpointStore is the package's ICheckpointStore, and the interface of ours is the package's", async () => {
  expectTypeOf<CheckpointStore>().toExtend<TheirStore>();
  expectTypeOf<ICheckpointStore>().toExtend<TheirStore>();
  expectTypeOf<TheirStore>().toExtend<ICheckpointStore>();
  const stores: TheirStore[] = [open("memory:"), new InMemoryCheckpointStore()];
  for (const store of stores) {
    await store.save(theirs);
    expect(await store.load("run", "node")).toEqual(theirs);
  }
});

it("checkpoints and metadata are the package's types, field by field, in both directions", async () => {
  expectTypeOf<Checkpoint>().toEqualTypeOf<TheirCheckpoint>();
  expectTypeOf<CheckpointMetadata>().toEqualTypeOf<TheirMetadata>();
  const store = open("memory:");
  await store.save(theirs);
  const back: TheirCheckpoint | null = await store.get("checkpoint");
  expect(back).toEqual(theirs);
  const listed: TheirMetadata[] = await store.list("graph-types-1");
  const again: CheckpointMetadata[] = listed;
  expect(again).toMatchObject([{ id: "checkpoint", runId: "run", hasMemorySnapshot: true }]);
});

it("a part of the package's GraphState is a patch, and its Checkpoint a thing to plan from", async () => {
  expectTypeOf<TheirState>().toExtend<Partial<StatePartitions>>();
  expectTypeOf<TheirResult["effectClass"]>().toEqualTypeOf<Checkpoint["nodeResults"][string]["effectClass"]>();
  const store = open("memory:");
  await store.save(theirs);
  const patch: TheirState = { scratch: { notes: [] }, iteration: 3 };
  const forked = await store.latest(await store.fork("checkpoint", patch));
  expect(forked?.state).toEqual({ ...theirs.state, scratch: { notes: [] } });
  expect(forked).not.toHaveProperty("iteration");
  expect(resumePlan({ ...theirs, visitedNodes: [] }).replay).toEqual(["node"]);
});

it("the store of the subpath is the store of the package", () => {
  expect(FromSubpath).toBe(CheckpointStore);
});
