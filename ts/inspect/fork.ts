/** Forks a checkpoint into a new run or branch, with an edited state. Stored checkpoints do not change. */

import { randomUUID } from "node:crypto";
import * as agentium from "../contracts/agentium/store.js";
import { statusInFork } from "../contracts/agentos/checkpoint-store.js";
import * as agentos from "../contracts/agentos/stored.js";
import { refuseUnknown } from "../contracts/agentos/patch.js";
import { ForkpointError, isArray, quote, typeError } from "../bridge/errors.js";
import { deserialize } from "../bridge/serializer.js";
import { SessionStore } from "../contracts/helix/store.js";
import { helix } from "../contracts/helix/wire.js";
import { Runs, type Snapshot } from "../contracts/mastra/runs.js";
import { requireId } from "../store/ids.js";
import { copyEffects } from "../store/effect-copies.js";
import { decodeMark, encodeMark } from "../store/mark.js";
import { anything, flag, readRecord } from "../store/options.js";
import { Checkpointer } from "../contracts/tinyagents/checkpointer.js";
import { fork as forkThread } from "../contracts/tinyagents/graph/inspection.js";
import { readNamespace } from "../contracts/tinyagents/values.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, IN_NAMESPACES, SESSIONS, readKey, refOf } from "./context.js";
import { readFound, readValues } from "./detail.js";
import { fromJsonForm, shownForm } from "../bridge/json-form/to-json-form.js";
import { type Plan, forkBranch } from "./langgraph-fork.js";
import { edited as editedForm } from "./edit.js";
import { parsePath } from "../bridge/json-form/path.js";
import { newestOf, readLineups } from "./rows.js";
import type { Key } from "./wire.js";
import type { CheckpointRef } from "./views.js";

/** How a checkpoint's state is changed in a fork. */
export interface ForkEdit {
  /** Replaces the value at each path: see {@link parsePath}. All keys but the last must exist. JSON form of values. */
  set?: Array<[path: string, value: unknown]> | undefined;
  /** A merge patch (RFC 7396), in the JSON form of values. */
  patch?: unknown;
  /** The entire state, in the JSON form of values. */
  state?: unknown;
  /** The id of the new run. Default: a generated one; LangGraph: a branch in the same thread. */
  as?: string | undefined;
}

const editOptions = { set: pairs, patch: anything, state: anything, as: requireId };

/** Forks a checkpoint. Returns the first checkpoint of the fork. */
export async function fork(context: Context, ref: unknown, edit: unknown, options: unknown): Promise<CheckpointRef> {
  const key = readKey(ref);
  const id = requireId((ref as CheckpointRef).id, "id");
  const { dryRun = false } = readRecord(options, "options", { dryRun: flag });
  const given = readRecord(edit, "edit", editOptions);
  const found = await findCheckpoint(context, key, { id });
  const parts = found && (await readFound(context, found.row));
  if (found === null || parts === null) {
    throw new ForkpointError("NOT_FOUND", `run ${quote(key.run)} has no checkpoint ${quote(id)}: nothing to fork from`);
  }
  const write = forks[key.space as keyof typeof forks];
  if (write === undefined) {
    const instead = insteadOf[key.space] ?? "only runs can";
    throw new ForkpointError("UNSUPPORTED", `an entry of ${quote(key.space)} cannot be forked: ${instead}`);
  }
  const { as } = given;
  const plan: Plan = { context, key, row: found.row, found: parts, edit: editor(given), as, dryRun };
  if (as !== undefined) await refuseTaken(context, { ...key, run: as, ns: IN_NAMESPACES.has(key.space) ? key.ns : "" });
  return write(plan);
}

/** What to do where nothing can be forked here. */
const insteadOf: Record<string, string> = {
  "langgraph-store": "put the items into another namespace",
  "langgraph-cache": "entries are computed again where they are needed",
  "claude-agent-sdk": "call the SDK's forkSession()",
  ai: "call fork() of ForkpointChats",
  "ai-streams": "fork the chat of the stream",
  "mastra-threads": "call copyThread() of the memory, with messageFilter",
  "openai-agents": "call fork() of a ForkpointSession",
  "openai-agents-states": "save the state as another run",
};

async function refuseTaken(context: Context, key: Key): Promise<void> {
  const [lineup] = await readLineups(context, [newestOf(key)]);
  if (lineup!.total === 0) return;
  throw new ForkpointError("CONFLICT", `run ${quote(key.run)} already exists: use another name for the fork`);
}

function pairs(set: unknown, name: string): Array<[string, unknown]> {
  if (isArray(set) && set.every((one) => isArray(one) && one.length === 2)) return set as Array<[string, unknown]>;
  throw typeError(`${name} must be a list of pairs of a path and a value`);
}

function editor({ set, patch, state }: ForkEdit): Plan["edit"] {
  const places = (set ?? []).map(([path, value]) => [parsePath(path), value] as const);
  if (state === undefined && places.length === 0 && patch === undefined) return undefined;
  return (before) => editedForm(state === undefined ? shownForm(before) : state, { set: places, patch });
}

/** Returns the edited state as a value. Returns undefined without an edit. Throws if the state is not readable. */
function edited({ context, row, found, edit }: Plan): { value: unknown } | undefined {
  if (edit === undefined) return undefined;
  const { state, parts } = readValues(context, row, found);
  const unreadable = parts.find(({ name, readable }) => !readable && name === "state");
  // A path cannot be resolved in a state that is not readable.
  if (unreadable !== undefined) {
    const message = `the state was written by the serializer ${quote(unreadable.tag)}, which is not registered: pass it in "serializers"`;
    throw new ForkpointError("UNSUPPORTED", message);
  }
  return { value: fromJsonForm(edit(state)) };
}

function part({ found }: Plan, name: string) {
  const stored = found.parts.find((each) => each.name === name);
  if (stored === undefined)
    throw new ForkpointError("CORRUPT", `the checkpoint has no part ${quote(name)}: restore a backup`);
  return stored;
}

function refTo(plan: Plan, run: string, id: string): CheckpointRef {
  return { ...refOf({ ...plan.key, run }), id };
}

const keysOf = (value: unknown) => (typeof value === "object" && value !== null ? Object.keys(value) : []);

/** Refuses a new key beside the partitions of AgentOS' state. */
function refuseLost({ context, row, found }: Plan, state: unknown): void {
  const before = new Set(keysOf(readValues(context, row, found).state));
  refuseUnknown(
    keysOf(state).filter((key) => !before.has(key)),
    "the state",
  );
}

const forks = {
  async agentos(plan) {
    const { context, row, as = randomUUID(), dryRun } = plan;
    const { engine } = context;
    const id = randomUUID();
    const change = edited(plan);
    if (change !== undefined) refuseLost(plan, change.value);
    const state = change === undefined ? part(plan, "state") : engine.format.serialize(change.value, "state");
    const source = await agentos.find(engine, row.id);
    const fields: agentos.Fields = {
      id,
      runId: as,
      graphId: row.group ?? "",
      nodeId: row.label ?? "",
      timestamp: Date.now(),
      hasMemorySnapshot: row.meta?.["hasMemorySnapshot"] === true,
      status: source === null ? "unknown" : statusInFork(engine, source, as),
      expectedNewest: undefined,
      parent: row.id,
      mark: encodeMark({ ...decodeMark(source?.mark), by: undefined, imported: undefined, branch: true }),
    };
    if (!dryRun) await agentos.put(engine, fields, state, part(plan, "rest"));
    return refTo(plan, as, id);
  },
  async agentium(plan) {
    const { context, row, as = randomUUID(), dryRun } = plan;
    const { engine } = context;
    const change = edited(plan);
    const state = change === undefined ? part(plan, "state") : engine.format.serialize(change.value, "state");
    const { stepIndex, steps } = row.meta as { stepIndex: number; steps: number | null };
    // The id of step N ends with N, and its index is N - 1. The state before the first step has the index -1.
    const id = stepIndex === -1 ? `${as}:initial` : `${as}:step-${stepIndex + 1}`;
    const step = { id, runId: as, stepIndex, stepName: row.label ?? "", createdAt: Date.now() };
    const encoded = {
      step,
      state,
      rest: part(plan, "rest"),
      steps: steps ?? undefined,
      shape: row.shape ?? undefined,
      parent: row.id,
    };
    if (!dryRun) await agentium.put(engine, { ...encoded, expectedParent: null, rewind: false });
    return refTo(plan, as, id);
  },
  langgraph: forkBranch,
  async mastra(plan) {
    const { context, key, row, as = randomUUID(), dryRun } = plan;
    const { engine } = context;
    const change = edited(plan);
    const { tag, bytes } = part(plan, "snapshot");
    const snapshot = deserialize(engine.format, tag, bytes, "the snapshot") as Snapshot;
    const forked = { ...snapshot, runId: as, ...(change && { context: change.value as Snapshot["context"] }) };
    const runs = new Runs();
    const copied = runs.copy(engine, forked);
    if (dryRun) return refTo(plan, as, randomUUID());
    const resource = row.meta?.["resourceId"] as string | null;
    return refTo(
      plan,
      as,
      await runs.persist(engine, { workflow: key.ns, run: as }, copied, { resource: resource ?? undefined }),
    );
  },
  async tinyagents(plan) {
    const { context, key, row, as = randomUUID(), dryRun } = plan;
    const change = edited(plan);
    if (change !== undefined) context.engine.format.serialize([change.value], "state");
    if (dryRun) return refTo(plan, as, randomUUID());
    const checkpointer = new Checkpointer<unknown>(context.store);
    const namespace = readNamespace(key.ns);
    const [from, to] = [
      { threadId: key.run, namespace },
      { threadId: as, namespace },
    ];
    const { checkpointId } = await forkThread(checkpointer, from, row.id.split("\0")[0], to, change);
    return { ...refOf({ ...key, run: as }), id: checkpointId };
  },
  async helix(plan) {
    const { context, key, row, as = randomUUID(), dryRun } = plan;
    const change = edited(plan);
    const isCurrent = row.space === SESSIONS;
    const state = change?.value ?? (isCurrent ? readValues(context, row, plan.found).state : undefined);
    if (state !== undefined) context.engine.format.serialize(state, "state");
    if (dryRun) return refTo(plan, as, as);
    const sessions = new SessionStore(context.store);
    if (isCurrent) {
      const { agentType } = (row.meta ?? {}) as { agentType?: string };
      await sessions.createSession(as, { agentType: agentType ?? "" });
      const of = { space: helix.name, run: key.run, ns: "" };
      await copyEffects(context.engine.native, of, { ...of, run: as }, { keepsIds: false });
    } else {
      await sessions.branchSession(row.id, as);
    }
    if (state !== undefined) {
      try {
        await sessions.saveState(as, state as Parameters<typeof sessions.saveState>[1]);
      } catch (error) {
        await sessions.deleteSession(as);
        throw error;
      }
    }
    return refTo(plan, as, as);
  },
} satisfies Record<string, (plan: Plan) => Promise<CheckpointRef>>;
