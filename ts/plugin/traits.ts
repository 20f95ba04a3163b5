/**
 * What a framework is, as far as plain data can say it: part of the description that each framework's folder gives. The other part is in
 * `plugin.ts`. This one needs no store and nothing of Node, because the studio's page and the command line use it too.
 */

/** The traits of a framework. Each has a default. */
export interface Traits {
  /** What its users call a run. Default: `"run"`. */
  noun?: "run" | "thread" | "session";

  /**
   * What a namespace is. `"subgraph"`: a run has one for each of its subgraphs. `"part"`: it is part of the name of a run, such as the
   * project of a session. Default: there are no namespaces.
   */
  namespaces?: "subgraph" | "part";
  /** True: the empty namespace is one as any other. Default: a run that is named without a namespace is meant in all of them. */
  emptyNamespace?: boolean;
  /** How users write a namespace: as a text, or as a list of names. Default: `"text"`. */
  namespaceForm?: "text" | "list";
  /** False: a run cannot be leased. Default: true. */
  leases?: boolean;

  /** True: the parent of a checkpoint is not stored. It is the checkpoint before it. Default: false. */
  ordered?: boolean;
  /** True: a run has one checkpoint, with the name of the run as its id. Default: false. */
  single?: boolean;
  /** True: the checkpoints of a run are values of their own, such as the items of a store. Default: false. */
  records?: boolean;
  /** The contract that holds the current state of each run, if that is not a checkpoint of the run. */
  current?: string;
  /** The contracts that keep what belongs to a run, in lineages with the name of the run. */
  beside?: readonly string[];
  /** The contracts that keep what belongs to several runs. */
  shared?: readonly string[];
  /** True: the pending writes of a checkpoint are pending again if its children are removed. Default: false. */
  reopens?: boolean;
  /** True: runs have effects. Default: false. */
  effects?: boolean;
  /**
   * Set if checkpoints say which version of a program has made them. `"mark"`: the mark of a checkpoint has the name of the program, by which
   * `recover` finds its runs. `"shape"`: the shape of the program has the name.
   */
  programs?: "mark" | "shape";
  /** True: a run that seems to be finished may have branches left, which only its program knows. Default: false. */
  mayGoOn?: boolean;
  /**
   * Where the names of the nodes are that have made a checkpoint. `"label"`: its label is the name. `"next"`: its parent names those that
   * run next. Default: nowhere.
   */
  nodes?: "label" | "next";
  /** True: runs belong to groups, such as the runs of a graph. Default: false. */
  groups?: boolean;

  /** Keys of the state that are not stored, because the reader of the values makes them. */
  madeKeys?: readonly string[];
  /** Returns true if the values of a checkpoint are put together from several stored ones, so that their bytes cannot be searched. */
  isJoined?(id: string): boolean;
  /** Returns true for a change of a value that only the framework itself needs. */
  isOwn?(change: OwnChange, writes: BothWrites): boolean;
  /** Whose values those are, in a sentence. Default: `"the framework's"`. */
  owner?: string;

  /** Returns what a step is called that no node has made. Undefined: by its label. */
  stepName?(meta: Readonly<Record<string, unknown>>, label: string | null): string | undefined;
  /** Returns true if nothing comes after a checkpoint with this metadata. */
  isLast?(meta: Readonly<Record<string, unknown>>): boolean;

  /** Set if runs can be forked from outside. */
  fork?: Forking;
  /** What to do where nothing can be forked from outside. */
  insteadOfFork?: string;
  /** True: the questions of runs can be answered from outside. Default: false. */
  answers?: boolean;
  /** Returns what continues a run whose questions have answers. Default: the next `recover()` of its program. */
  answered?(id: string): string;
}

/** How forks of a framework behave. */
export interface Forking {
  /** True: a fork without a name is a branch in the same run. Default: false. */
  inPlace?: boolean;
  /** Returns the call that continues a fork in a program. `id` is a text of JavaScript. Default: the guide of the framework says it. */
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
