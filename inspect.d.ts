/**
 * Looks into a store: runs, checkpoints, states, differences, forks and damage, of every contract and every backend.
 *
 * The command line and the studio are made of this module. What they show, a program can read. A store cannot know
 * whether a process works on a run. So a {@link Status} says what the newest checkpoint says, and never "running".
 */

import type { BackupOptions, BackupResult } from "./backup.js";
import type {
  Finding,
  LineageStats,
  PruneOptions,
  PruneResult,
  Serializer,
  Store,
  StoreStats,
  VerifyReport,
} from "./index.js";

export * from "./inspect-values.js";
export type { Finding, VerifyReport } from "./index.js";

/**
 * The contract that a run belongs to. `"storage"` is Agentium's storage driver: each key is a run with one checkpoint.
 */
export type Space = "agentos" | "agentium" | "storage" | "langgraph" | "tinyagents" | "helix" | (string & {});

/** Names a run. */
export interface RunRef {
  space: Space;
  /** The id of the run, thread or session, or the key of a stored value. */
  run: string;
  /**
   * The namespace: LangGraph's `checkpoint_ns`, the JSON text of TinyAgents' namespace, or the namespace of a stored
   * value. `""` is the graph itself. Null or missing: the graph itself, or a contract without namespaces.
   */
  ns?: string | null | undefined;
}

/** Names a checkpoint. */
export interface CheckpointRef extends RunRef {
  /** The id of the checkpoint. */
  id: string;
}

/**
 * What the newest checkpoint of a run says of it. `"waiting"`: a human has to answer. `"failed"`: a node has failed.
 * `"unfinished"`: nodes are left to run. `"finished"`: none is left. `"unknown"`: the checkpoint does not say it.
 */
export type Status = "waiting" | "failed" | "unfinished" | "finished" | "unknown";

/** A size, in bytes. */
export interface Size {
  /** As the values were serialised. */
  logical: number;
  /** As they are stored: compressed, and as differences to each other. */
  stored: number;
}

/** A run in a listing. */
export interface RunInfo extends RunRef {
  ns: string | null;
  /** What several runs share: AgentOS' graph. Null for contracts without groups. */
  group: string | null;
  /** The number of its checkpoints. */
  checkpoints: number;
  /** When its first checkpoint was saved, in ms since the epoch. Null if that was not asked for. */
  began: number | null;
  /** When its newest checkpoint was saved, in ms since the epoch. */
  active: number;
  /** The newest checkpoint, in the order of the contract. */
  latest: CheckpointInfo;
  /** The checkpoint of another run from which this run began. */
  forkedFrom: CheckpointRef | null;
  /** Null if it was not asked for. */
  status: Status | null;
  /** What the status was read from, in a few words. Null if there is nothing to say. */
  statusWhy: string | null;
  /** The size of all of its checkpoints. Null if it was not asked for. */
  bytes: Size | null;
  /** Who holds the lease of the run, and until when (ms since the epoch). Null: nobody. */
  lease: { holder: string; until: number } | null;
}

/** A checkpoint in a listing. */
export interface CheckpointInfo extends CheckpointRef {
  ns: string | null;
  /** The position in the save order of the whole store. */
  seq: number;
  /** The place in the run, from 0, in the order of the contract. */
  step: number;
  /** AgentOS' node, Agentium's step name, LangGraph's `metadata.source`, TinyAgents' and Helix' status. */
  label: string | null;
  /** AgentOS' graph. */
  group: string | null;
  /**
   * The parent. `"recorded"`: the contract stores it. `"order"`: the contract stores none, and this is the checkpoint
   * before it in the run.
   */
  parent: (CheckpointRef & { kind: "recorded" | "order" }) | null;
  /** The time that the contract itself gives, in ms since the epoch. */
  at: number | null;
  /** When the store received it, in ms since the epoch. */
  savedAt: number;
  bytes: Size;
  /** How many stored differences a read puts together. 0: it is stored whole. */
  chain: number;
  /**
   * What the contract keeps beside the state: AgentOS' `stateSize` and `hasMemorySnapshot`, Agentium's `stepIndex`,
   * LangGraph's metadata, and so on.
   */
  meta: Record<string, unknown>;
}

/** A serialised part of a checkpoint. */
export interface PartInfo {
  name: string;
  /** The name of the serializer that wrote it. */
  tag: string;
  bytes: number;
  /** False if nobody here knows the serializer. */
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
 * Values are in a JSON form. What JSON lacks is an object with the key `$type`, for example
 * `{ "$type": "Date", "value": "2026-01-01T00:00:00.000Z" }`. The types are `Date`, `BigInt`, `Map`, `Set`, `Bytes`,
 * `RegExp`, `Error`, `Number`, `Undefined`, `Hole`, `Ref`, `Object`, `Opaque`, `Boxed` (an object such as
 * `new Number(1)`) and `Array` (a list with named properties or many holes). {@link fromJsonForm} is the way back.
 */
export interface CheckpointDetail {
  checkpoint: CheckpointInfo;
  /** The state: LangGraph's channels by name, Helix' session with its messages, the value of a stored key. */
  state: unknown;
  /** All other fields of the checkpoint. Null if there are none. */
  rest: unknown;
  writes: WriteInfo[];
  /** The nodes that run next. Null if the checkpoint does not say it. */
  next: string[] | null;
  parts: PartInfo[];
}

/** A difference between two checkpoints. */
export interface Change {
  part: "state" | "rest" | "writes";
  op: "add" | "remove" | "replace";
  /**
   * The place in the part: keys of objects and Maps, and indexes of lists. An entry of a Map whose key is no text has the
   * number of its place. For `"remove"` it is the place in the value before, else in the value after.
   */
  path: Array<string | number>;
  /** Missing for `"add"`. In the JSON form of values. */
  before?: unknown;
  /** Missing for `"remove"`. In the JSON form of values. */
  after?: unknown;
}

/** A page of a listing. */
export interface Page<T> {
  items: T[];
  /** What the next page begins with. Null: this is the last page. */
  cursor: string | null;
}

/** Which runs to list, and how. */
export interface RunQuery {
  space?: Space | undefined;
  /** Only runs whose group begins so. */
  group?: string | undefined;
  /** Only runs whose id contains this text. */
  match?: string | undefined;
  /** Only runs with this status. */
  status?: Status | undefined;
  /** Only runs that were active at this time or later, in ms since the epoch. */
  since?: number | undefined;
  /** The order: last active first (the default), last begun first, or largest first. */
  sort?: "active" | "began" | "size" | undefined;
  /** Only this namespace. Default: only the graphs themselves. */
  ns?: string | undefined;
  /** All namespaces. Default: false. */
  allNs?: boolean | undefined;
  /** The length of a page. Default: 100. At most 1,000. */
  limit?: number | undefined;
  cursor?: string | null | undefined;
  /** Whether to read the status of each run. Default: false. */
  withStatus?: boolean | undefined;
  /** Whether to sum up the size of each run. Default: false. */
  withBytes?: boolean | undefined;
}

/** What a store is. */
export interface StoreInfo {
  /** The version of forkpoint. */
  version: string;
  /** The path or the URL, without a password. `"memory:"` for a store in memory. */
  target: string;
  /** `"sqlite"`, `"jsonl"`, `"postgres"` or `"memory"`. */
  backend: string;
  /** Whether this inspector may write. */
  write: boolean;
  spaces: Array<{ space: Space; runs: number; checkpoints: number; logicalBytes: number; storedBytes: number }>;
}

/** Statistics of a store, as `forkpoint stats` shows them. */
export interface InspectedStats extends Omit<StoreStats, "largest" | "keptBytes"> {
  /** By space. */
  spaces: Record<string, { runs: number; checkpoints: number; logicalBytes: number; storedBytes: number }>;
  /** The largest runs first. */
  largest: Array<LineageStats & { space: Space; run: string; ns: string | null }>;
  /** The size of the log of a SQLite database in bytes. Null if there is none. */
  walBytes: number | null;
  /** The room in the file that nothing uses, in bytes. Null if that is not known. */
  freeBytes: number | null;
}

/** How much was saved in an hour. */
export interface SavedPerHour {
  /** When the hour begins, in ms since the epoch. */
  at: number;
  /** How many checkpoints were saved. Those that were removed since, or saved again, count as well. */
  saved: number;
}

/** What a watch tells. */
export type StoreEvent =
  | { type: "saved"; seq: number; checkpoint: CheckpointInfo }
  /** Something was removed. Read again what you show. */
  | { type: "changed" };

/** What an import has stored. */
export interface ImportReport {
  runs: number;
  checkpoints: number;
  writes: number;
  /** Runs that were there already. */
  skipped: number;
  verified: true;
}

/** How a checkpoint's state is changed in a fork. */
export interface ForkEdit {
  /** Replaces the value at each path: see {@link parsePath}. All keys but the last must exist. JSON form of values. */
  set?: Array<[path: string, value: unknown]> | undefined;
  /** A merge patch (RFC 7396), in the JSON form of values. */
  patch?: unknown;
  /** The whole state, in the JSON form of values. */
  state?: unknown;
  /** The id of the new run. Default: a generated one; LangGraph: a branch in the same thread. */
  as?: string | undefined;
}

/** Options of {@link openInspector}. */
export interface InspectorOptions {
  /** Read values of your own serializers. */
  serializers?: Serializer[] | undefined;
  /** How long a call waits while another process holds the database, in ms. Default: 30,000. */
  busyTimeout?: number | undefined;
  /** Whether `fork`, `remove`, `import`, `prune` and `vacuum` may write. Default: false. */
  write?: boolean | undefined;
}

/** Looks into a store. Get one from {@link openInspector}. */
export interface Inspector extends AsyncDisposable {
  /** What the store is, and what is in it. */
  info(): Promise<StoreInfo>;
  /** A page of runs. */
  runs(query?: RunQuery): Promise<Page<RunInfo>>;
  /** One run, or null. `began` is always set. */
  run(ref: RunRef, options?: { withStatus?: boolean; withBytes?: boolean }): Promise<RunInfo | null>;
  /** A page of the checkpoints of a run. Default: the oldest first. `limit`: 100 unless given, at most 1,000. */
  checkpoints(
    ref: RunRef,
    query?: { limit?: number; cursor?: string | null; order?: "asc" | "desc" },
  ): Promise<Page<CheckpointInfo>>;
  /** The runs that began from a checkpoint of this run. */
  forks(ref: RunRef): Promise<RunInfo[]>;
  /** A checkpoint with its values: by id, by place in the run (negative: from the end), or the newest. */
  checkpoint(ref: RunRef & { id?: string | undefined; step?: number | undefined }): Promise<CheckpointDetail | null>;
  /** The changes from one checkpoint to another. Null: from nothing. `limit`: 10,000 unless given. */
  diff(
    from: CheckpointRef | null,
    to: CheckpointRef,
    options?: { parts?: Array<Change["part"]>; limit?: number },
  ): Promise<{ changes: Change[]; truncated: boolean }>;
  /**
   * What is saved, by whatever process, until the signal aborts or the loop ends. `since`: only what was saved after this
   * seq. `last`: begins with so many of the checkpoints that were saved last.
   */
  watch(options?: {
    space?: Space | undefined;
    run?: string | undefined;
    since?: number | undefined;
    last?: number | undefined;
    signal?: AbortSignal | undefined;
  }): AsyncIterable<StoreEvent>;
  /** How much is stored. `largest`: how many of the largest runs to name (10 unless given). */
  stats(options?: { largest?: number }): Promise<InspectedStats>;
  /** How much was saved in each of the last hours, the oldest first. `hours`: 24 unless given, at most 168. */
  activity(options?: { hours?: number }): Promise<SavedPerHour[]>;
  /**
   * Verifies everything that is stored. `quick`: looks at the place of the database and at its pages only, in a second at
   * most. `runs`: everything is read and counted in `checked`, and `findings` and `ok` are about these runs only, with all
   * namespaces of a thread and the current state of a session.
   */
  verify(options?: {
    runs?: RunRef[] | undefined;
    quick?: boolean | undefined;
    signal?: AbortSignal | undefined;
    onProgress?: ((done: number, of: number) => void) | undefined;
  }): Promise<VerifyReport>;
  /** The lines of an export, each without its line end. */
  export(options?: {
    runs?: RunRef[] | undefined;
    space?: Space | undefined;
    since?: number | undefined;
    /** False: no states, only what listings show. Such a file cannot be imported. Default: true. */
    values?: boolean | undefined;
    signal?: AbortSignal | undefined;
  }): AsyncIterable<string>;
  /** Copies the database into a new file, online, and verifies it: see {@link Store.backup}. */
  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult>;

  /**
   * Goes on elsewhere, with another state. Never changes what is there.
   * @throws ForkpointError `UNSUPPORTED` without `write`, as all that follow.
   */
  fork(ref: CheckpointRef, edit?: ForkEdit, options?: { dryRun?: boolean }): Promise<CheckpointRef>;
  /** Removes a run, or some of its checkpoints. */
  remove(ref: RunRef, ids?: string[]): Promise<{ removed: number }>;
  /** Stores what an export has written. */
  import(
    lines: AsyncIterable<string>,
    options?: {
      onConflict?: "fail" | "skip" | "replace" | undefined;
      /** Reads and checks everything, and writes nothing. */
      dryRun?: boolean | undefined;
      signal?: AbortSignal | undefined;
      onProgress?: ((progress: { runs: number; checkpoints: number; writes: number }) => void) | undefined;
    },
  ): Promise<ImportReport>;
  /** Removes old checkpoints: see {@link Store.prune}. With a space, only those of this contract. */
  prune(options: PruneOptions & { space?: Space | undefined }): Promise<PruneResult>;
  /** Gives the room of removed checkpoints back to the file system. */
  vacuum(): Promise<void>;
  /** Waits until the calls in progress end, then closes. */
  close(): Promise<void>;
}

/**
 * Opens a store to look into it.
 *
 * Without `write`, nothing is changed: no file is created, no table is made or upgraded, and the bytes of a database stay
 * the same. Other processes may write meanwhile.
 *
 * @param target what {@link openStore} takes, or an open store. A store that was given stays open after `close()`.
 * @throws ForkpointError `NOT_FOUND` if there is no such database. TypeError for a wrong target or option.
 * @example
 * ```ts
 * import { openInspector } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * const { items } = await inspector.runs({ withStatus: true });
 * for (const { space, run, status } of items) console.log(space, run, status);
 * ```
 */
export function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector>;
