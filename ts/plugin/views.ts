/** What the inspector shows: runs, checkpoints and their values. */

import type { Effect } from "../store/effect.js";
import type { RunStop } from "../store/results.js";
import type { ProgramVersion } from "../store/program-shape.js";
import type { KnownSpace } from "../contracts/registry.js";
import type { LineageStats, StoreStats } from "../store/results.js";

/**
 * The framework that a run belongs to. `"storage"` is a key-value driver: each key is a run with one checkpoint.
 */
export type Space = KnownSpace | (string & {});

/** Names a run. */
export interface RunRef {
  space: Space;
  /** The id of the run, thread or session, or the key of a stored value. */
  run: string;
  /**
   * The namespace: a subgraph's, as the framework writes it or as JSON, or a part of the run's name, such as the
   * namespace of a stored value. `""` is the graph itself. Null or missing: the graph itself, or a framework without
   * namespaces.
   */
  ns?: string | null | undefined;
}

/** Names a checkpoint. */
export interface CheckpointRef extends RunRef {
  /** The id of the checkpoint. */
  id: string;
}

/**
 * The status of a run, from its newest checkpoint and the writes to it. `"waiting"`: a human has to answer. `"failed"`:
 * a node has failed. `"unfinished"`: nodes are left to run. `"stopped"`: somebody has stopped the run, and nobody has
 * continued it. `"finished"`: no node is left to run. `"unknown"`: the checkpoint does not contain the status.
 */
export type Status = "waiting" | "failed" | "unfinished" | "stopped" | "finished" | "unknown";

/** A status as the engine stores it. Other entries tell whether an unfinished or failed run was stopped. */
export type StoredStatus = Exclude<Status, "stopped">;

/** A size, in bytes. */
export interface Size {
  /** The size of the serialized values. */
  logical: number;
  /** The stored size: compressed, and as deltas. */
  stored: number;
}

/** Why the version of a program that started last cannot continue an open run. */
export interface Stranded {
  /** The name of the program. */
  program: string;
  /** The version of the program that started last, in any process. */
  to: ProgramVersion;
  /** What differs, in words: ``"`b`, which is next, is gone; `b2` is new"``. */
  differences: string[];
}

/** The number of {@link Stranded} runs of a program. */
export interface StrandedCount {
  space: Space;
  program: string;
  runs: number;
}

/** A run in a listing. */
export interface RunInfo extends RunRef {
  ns: string | null;
  /** The group of the run, such as its graph. Null for frameworks without groups. */
  group: string | null;
  /** The number of its checkpoints, counted in an index: see `runs()`. */
  checkpoints: number;
  /** When its first checkpoint was saved, in ms since the epoch. Null unless requested. */
  began: number | null;
  /** When its newest checkpoint was saved, in ms since the epoch. */
  active: number;
  /** The newest checkpoint, in the order of the framework. */
  latest: CheckpointInfo;
  /** The checkpoint of another run from which this run was forked. */
  forkedFrom: CheckpointRef | null;
  status: Status;
  /** Who has stopped the run, when, and why. Null if the status is not `"stopped"`. */
  stopped: RunStop | null;
  /** The labels from `setLabels()` or the store's option `labels`. A graph's namespaces have no labels. */
  labels: Record<string, string>;
  /** The reason for the status, in a few words. Null if there is none, or unless requested. */
  statusWhy: string | null;
  /** The first line of a waiting run's question: see `questions()`. Null if there is none, or unless requested. */
  question: string | null;
  /** The size of all of its checkpoints. Null unless requested. */
  bytes: Size | null;
  /** The version of the program that made its newest checkpoint. Null: unknown. */
  version: ProgramVersion | null;
  /** The holder of the run's lease and its expiry time (ms since the epoch). Null: there is no lease. */
  lease: { holder: string; until: number } | null;
  /**
   * Why no worker of the version that started last continues the run. Null if it fits, if its program has no name, if a
   * process holds its lease, or unless requested.
   */
  stranded: Stranded | null;
}

/** A checkpoint in a listing. */
export interface CheckpointInfo extends CheckpointRef {
  ns: string | null;
  /** The position in the save order of the entire store. */
  seq: number;
  /** The index in the run, from 0, in the order of the framework. */
  step: number;
  /** The framework's own name for it: its node or step, its source (`"input"`, `"loop"`, `"update"`), or a status. */
  label: string | null;
  /**
   * The node or the step of each task that made it. A node with several concurrent tasks is listed several times. Null:
   * no node made it, or the nodes are unknown.
   */
  nodes: string[] | null;
  /** The group of the run, such as its graph. Null for frameworks without groups. */
  group: string | null;
  /**
   * The parent. `"recorded"`: the framework stores it. `"order"`: the framework stores none, so it is the previous
   * checkpoint of the run.
   */
  parent: (CheckpointRef & { kind: "recorded" | "order" }) | null;
  /** The framework's own time, in ms since the epoch. */
  at: number | null;
  /** When the store received it, in ms since the epoch. */
  savedAt: number;
  bytes: Size;
  /** The number of deltas that a read applies. 0: it is stored in full. */
  chain: number;
  /** The metadata that the framework stores with the state, such as the index of a step. */
  meta: Record<string, unknown>;
}

/** A serialized part of a checkpoint. */
export interface PartInfo {
  name: string;
  /** The name of the serializer that wrote it. */
  tag: string;
  bytes: number;
  /** False if the part cannot be read, for example because its serializer is missing. */
  readable: boolean;
}

/** A pending write of a checkpoint. */
export interface WriteInfo {
  task: string;
  index: number;
  channel: string;
  /** In the JSON form of values: see {@link CheckpointDetail}. */
  value: unknown;
  /** The id of the checkpoint that was made from the write. Null: it is pending. */
  owner: string | null;
  tag: string;
}

/**
 * A checkpoint with its values.
 *
 * Values are in a JSON form. A value that JSON cannot represent is an object with the key `$type`, for example `{
 * "$type": "Date", "value": "2026-01-01T00:00:00.000Z" }`. The types are `Date`, `BigInt`, `Map`, `Set`, `Bytes`,
 * `RegExp`, `Error`, `Number`, `Undefined`, `Hole`, `Ref`, `Object`, `Opaque`, `Boxed` (an object such as `new
 * Number(1)`) and `Array` (a list with named properties or many holes). {@link fromJsonForm} converts the form back to
 * the value.
 */
export interface CheckpointDetail {
  checkpoint: CheckpointInfo;
  /** The state: the channels of a graph by name, a session with its messages, the value of a stored key. */
  state: unknown;
  /** All other fields of the checkpoint. Null if there are none. */
  rest: unknown;
  writes: WriteInfo[];
  /** The nodes that run next. Null if the checkpoint does not contain them. */
  next: string[] | null;
  parts: PartInfo[];
}

/** Names an effect of a run. */
export interface EffectRef extends RunRef {
  key: string;
  /** Distinguishes effects with the same key: see {@link EffectInfo}. Default: the one that began last. */
  branch?: number | undefined;
}

/**
 * An effect of a run in a listing: an action on another system, such as a payment or a mail. In the run's timeline, it
 * comes after the checkpoint `checkpointId`.
 */
export interface EffectInfo extends RunRef, Effect {
  ns: string | null;
  /** 0 for the first effect with this key. Each branch of the run may have its own effect. */
  branch: number;
}

/** An effect with its result. */
export interface EffectDetail {
  effect: EffectInfo;
  /** In the JSON form (see {@link CheckpointDetail}). The error if the state is `"error"`. Null without a result. */
  result: unknown;
  /** The stored form of the result. Null: there is none. */
  part: PartInfo | null;
}

/** A difference between two checkpoints. */
export interface Change {
  part: "state" | "rest" | "writes";
  op: "add" | "remove" | "replace";
  /**
   * The place in the part: keys of objects and Maps, and indexes of lists. An entry of a Map whose key is not a string
   * has its index as the key. For `"remove"`, the path leads through the old value. Otherwise it leads through the new
   * value.
   */
  path: Array<string | number>;
  /** Missing for `"add"`. In the JSON form of values. */
  before?: unknown;
  /** Missing for `"remove"`. In the JSON form of values. */
  after?: unknown;
  /** True if only the framework itself needs the value, such as the versions of channels. Otherwise missing. */
  own?: true;
}

/** A page of a listing. */
export interface Page<T> {
  items: T[];
  /** The cursor for the next page. Null on the last page. */
  cursor: string | null;
}

/** The stored data of a framework's runs. `effects` are not counted as checkpoints. */
export interface SpaceStats {
  runs: number;
  /** The number of runs with each status. Here, the namespaces of a graph count as runs. */
  statuses: Record<Status, number>;
  checkpoints: number;
  /** The number of effects of the runs. */
  effects: number;
  /** The size of the checkpoints, messages and entries in bytes, with checkpoints in serialized form. */
  logicalBytes: number;
  /** The stored size of the checkpoints, messages and entries in bytes. */
  storedBytes: number;
  /**
   * True if these numbers are estimates: see {@link StoreStats.isEstimate}. On SQLite, `statuses` are estimates if a
   * framework has more than a million unfinished runs.
   */
  isEstimate: boolean;
}

/** The open runs of a version of a program. Every run that is not finished is open. */
export interface VersionCount {
  space: Space;
  /** The name of the program. Null: it has none, or it is unknown. */
  program: string | null;
  /** The version that saved the newest checkpoint of these runs. Null: unknown. */
  version: ProgramVersion | null;
  /** The number of open runs. Namespaces of a graph are not counted. */
  runs: number;
  /** The number of open runs with each status. */
  statuses: Record<Exclude<Status, "finished">, number>;
  /** True if the framework has more than 500 open runs. The counts are then based on an even sample of 500. */
  isEstimate: boolean;
}

/** Describes a store. */
export interface StoreInfo {
  /** The version of forkpoint. */
  version: string;
  /** The path or the URL, without a password. `"memory:"` for a store in memory. */
  target: string;
  /** `"sqlite"`, `"jsonl"`, `"postgres"` or `"memory"`. */
  backend: string;
  /** Whether this inspector may write. */
  write: boolean;
  spaces: Array<{ space: Space } & SpaceStats>;
}

/** Statistics of a store, as `forkpoint stats` shows them. */
export interface InspectedStats extends Omit<StoreStats, "largest" | "keptBytes"> {
  /** By space. */
  spaces: Record<string, SpaceStats>;
  /** The largest runs first. */
  largest: Array<LineageStats & { space: Space; run: string; ns: string | null }>;
  /** The size of the log of a SQLite database in bytes. Null if there is none. */
  walBytes: number | null;
  /** The unused space in the file, in bytes. Null if it is unknown. */
  freeBytes: number | null;
}

/** The number of saves in an hour. */
export interface SavedPerHour {
  /** The start of the hour, in ms since the epoch. */
  at: number;
  /** The number of saved checkpoints. Includes those that were removed or saved again since then. */
  saved: number;
}
