/**
 * The part of a framework's description that is plain data. The other part is in `plugin.ts`. This part needs no store
 * and no Node module, because the studio's page and the command line use it too.
 */

/** The traits of a framework. Each has a default. */
export interface Traits {
  /** The users' word for a run. Default: `"run"`. */
  noun?: "run" | "thread" | "session";

  /**
   * The meaning of a namespace. `"subgraph"`: a run has one for each of its subgraphs. `"part"`: it is part of the
   * run's name, such as the project of a session. Default: there are no namespaces.
   */
  namespaces?: "subgraph" | "part";
  /** True: the empty namespace is an ordinary namespace. Default: a run without a namespace stands for all of them. */
  emptyNamespace?: boolean;
  /** How users write a namespace: as a text, or as a list of names. Default: `"text"`. */
  namespaceForm?: "text" | "list";
  /** False: a run cannot be leased. Default: true. */
  leases?: boolean;

  /** True: the parent of a checkpoint is not stored. The previous checkpoint is the parent. Default: false. */
  ordered?: boolean;
  /** True: a run has one checkpoint, with the name of the run as its id. Default: false. */
  single?: boolean;
  /** True: each checkpoint of a run is a separate value, such as an item of a store. Default: false. */
  records?: boolean;
  /** The contract with the current state of each run, if no checkpoint of the run holds it. */
  current?: string;
  /** The contracts with further data of a run, in lineages with the name of the run. */
  beside?: readonly string[];
  /** The contracts with data that belongs to several runs. */
  shared?: readonly string[];
  /** True: if its children are removed, a checkpoint's writes become pending again. Default: false. */
  reopens?: boolean;
  /**
   * True: the policy `"rollback"` removes the later checkpoints of a run. Default: the framework's store has a function
   * for it, or the policy is not supported.
   */
  goesBack?: boolean;
  /** True: runs have effects. Default: false. */
  effects?: boolean;
  /**
   * Set if checkpoints record the version of their program. `recover` finds the runs of a program by its name.
   * `"mark"`: the name is in the checkpoint's mark. `"shape"`: the name is in the program's shape.
   */
  programs?: "mark" | "shape";
  /** True: a run that seems finished may have branches left, which only its program knows. Default: false. */
  mayGoOn?: boolean;
  /**
   * The source of the names of the nodes that made a checkpoint. `"label"`: the label is the name. `"next"`: the parent
   * lists the nodes that run next. Default: none.
   */
  nodes?: "label" | "next";
  /** True: runs belong to groups, such as the runs of a graph. Default: false. */
  groups?: boolean;

  /** Keys of the state that are not stored. The reader of the values creates them. */
  madeKeys?: readonly string[];
  /** Returns true if a checkpoint's values are assembled from several stored ones: their bytes cannot be searched. */
  isJoined?(id: string): boolean;
  /** Returns true for a change of a value that is internal to the framework. */
  isOwn?(change: OwnChange, writes: BothWrites): boolean;
  /** The owner of those values, for messages. Default: `"the framework's"`. */
  owner?: string;

  /** Returns the name of a step that no node made. Undefined: its label. */
  stepName?(meta: Readonly<Record<string, unknown>>, label: string | null): string | undefined;
  /** Returns true if a checkpoint with this metadata is the last of its run. */
  isLast?(meta: Readonly<Record<string, unknown>>): boolean;

  /** Set if runs can be forked from outside. */
  fork?: Forking;
  /** The remedy where nothing can be forked from outside. */
  insteadOfFork?: string;
  /** True: the questions of runs can be answered from outside. Default: false. */
  answers?: boolean;
  /** Returns the call that continues a run after its answers. Default: the next `recover()` of its program. */
  answered?(id: string): string;
}

/** How forks of a framework behave. */
export interface Forking {
  /** True: a fork without a name is a branch in the same run. Default: false. */
  inPlace?: boolean;
  /** Returns the code that continues a fork. `id` is JavaScript source. Default: see the framework's guide. */
  resume?(id: string): string;
}

/** A change of a value: see {@link Change}. */
export interface OwnChange {
  part: "state" | "rest" | "writes";
  op: "add" | "remove" | "replace";
  path: ReadonlyArray<string | number>;
}

/** The pending writes of two checkpoints that are compared. */
export interface BothWrites {
  before: ReadonlyArray<{ owner?: string | null; channel?: string }>;
  after: ReadonlyArray<{ owner?: string | null; channel?: string }>;
}
