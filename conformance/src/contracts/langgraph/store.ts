/** What the suite uses of `BaseCheckpointSaver`. */
export interface Saver {
  readonly serde: Serde;
  get(config: Config): Promise<Checkpoint | undefined>;
  getTuple(config: Config): Promise<Tuple | undefined>;
  list(config: Config, options?: ListOptions): AsyncIterableIterator<Tuple>;
  put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: Versions): Promise<Config>;
  putWrites(config: Config, writes: Write[], taskId: string, taskPath?: string): Promise<void>;
  deleteThread(threadId: string): Promise<void>;
  getNextVersion(current: number | string | undefined): number | string;
  /** Beta, and optional. */
  getDeltaChannelHistory?(options: { config: Config; channels: string[] }): Promise<Record<string, History>>;
}

export interface Serde {
  dumpsTyped(value: unknown): Promise<[string, Uint8Array]>;
  loadsTyped(type: string, bytes: Uint8Array | string): Promise<unknown>;
}

export interface Config {
  configurable?: Record<string, unknown>;
}

export interface ListOptions {
  limit?: number;
  before?: Config;
  filter?: Record<string, unknown>;
}

export interface Checkpoint {
  v: number;
  id: string;
  ts: string;
  channel_values: Record<string, unknown>;
  channel_versions: Versions;
  versions_seen: Record<string, Versions>;
}

export type Versions = Record<string, number | string>;

/** LangGraph's own keys are `source`, `step` and `parents`. */
export type Metadata = Record<string, unknown>;

/** A channel and a value. */
export type Write = [channel: string, value: unknown];

export interface Tuple {
  config: Config;
  checkpoint: Checkpoint;
  metadata?: Metadata;
  parentConfig?: Config;
  pendingWrites?: Array<[task: string, channel: string, value: unknown]>;
}

export interface History {
  seed?: unknown;
  writes: Array<[task: string, channel: string, value: unknown]>;
}
