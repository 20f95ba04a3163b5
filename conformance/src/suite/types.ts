/** What an expectation demands of a store. */
export type Level =
  /** The contract's documents, types or framework demand it. */
  | "MUST"
  /** The framework's own store does it, or users would lose something without it. */
  | "SHOULD"
  /** Forkpoint demands it of itself. */
  | "OURS";

/** What an expectation is about. */
export type Group =
  /** The results and errors of each method. */
  | "contract"
  /** Orders, pages and limits. */
  | "order"
  /** Values, ids and arguments that break careless code. */
  | "hostile"
  /** Nothing is mixed up between threads, tenants, branches or callers. */
  | "isolation"
  /** Several processes use one store at once. */
  | "race"
  /** A process is killed with SIGKILL. */
  | "kill"
  /** Another process, or a store opened later, reads what was saved. */
  | "restart"
  /** How many bytes are stored. Gives figures and no verdict. */
  | "growth"
  /** Deletion, expiry and pruning. */
  | "retention";

/** All groups, in the order in which they run. */
export const groups: readonly Group[] = [
  "contract",
  "order",
  "hostile",
  "isolation",
  "restart",
  "retention",
  "race",
  "kill",
  "growth",
];

/** Where an expectation comes from: a page or a type, the framework's own store or code, or Forkpoint's own demand. */
export type Source = `documented: ${string}` | `framework: ${string}` | `ours: ${string}`;

/** A sentence about stores that is true or false. */
export interface Expectation<Store> {
  /** `<contract>/<name>`. It never changes: results, skips and issues refer to it. */
  readonly id: string;
  readonly group: Group;
  readonly level: Level;
  readonly source: Source;
  /** What is expected, as a sentence with the store as its subject. */
  readonly title: string;
  /** Throws if the store does not do it. */
  readonly check: (trial: Trial<Store>) => Promise<void>;
}

/** What runs in another process. `input`, `say`, `told` and the result must be values that can be cloned. */
export type Program<Store> = (process: {
  /** The store, opened at the trial's target. */
  readonly store: Store;
  readonly input: any;
  /** Tells the trial something. Resolves when it has been sent. */
  readonly say: (value: unknown) => Promise<void>;
  /** Waits for what the trial tells. */
  readonly told: () => Promise<any>;
}) => Promise<unknown>;

/** A process that runs a program. */
export interface Child {
  /** Waits for what the program says next. Rejects if the program has failed or the process has ended. */
  next(): Promise<any>;
  /** Tells the program something. */
  tell(value: unknown): void;
  /** Waits for the program's result. */
  result(): Promise<any>;
  /** Kills the process with SIGKILL. Resolves with everything that it has said when it has ended. */
  kill(): Promise<any[]>;
}

/** One run of an expectation, on an empty store of its own. */
export interface Trial<Store> {
  /** Where the store is. */
  readonly target: string;
  /** Returns the trial's store. Opens it at the first call. */
  store(): Promise<Store>;
  /** Closes the trial's store and opens it again. */
  reopen(): Promise<Store>;
  /** Starts a program of the suite in another process, on the same target. */
  child(program: string, input?: unknown): Child;
  /** Returns a whole number from 0 to `below` - 1, or that of the seed. */
  random(below: number): number;
  /** Resolves after some time. */
  sleep(ms: number): Promise<void>;
  /** Adds a figure to the report. */
  figure(name: string, value: number, unit: "bytes" | "ms" | "of 100" | "times"): void;
  /** Returns how many bytes the store takes after closing it, or undefined if that can't be told. */
  bytes(): Promise<number | undefined>;
  /** Loads a package as the store's module would, with `require`. */
  library(name: string): any;
}

/** A place where a store is. */
export interface Place {
  readonly target: string;
}

/** What a store's module exports. Its path is given, and not the store itself: other processes open the store too. */
export interface StoreModule<Store = any> {
  /** How the store is called in reports. Default: the name of the module's file. */
  readonly name?: string;
  readonly version?: string;
  /** Opens the store. What is stored at a target is shared by all stores that are open there. */
  open(place: Place): Store | Promise<Store>;
  /** Closes a store that `open` has returned. */
  close?(store: Store): unknown;
  /** Removes what is stored at a target. Needed if the target has neither `{dir}` nor `{n}`. */
  wipe?(place: Place): unknown;
  /** Returns how many bytes are stored at a target. Default: those of the files in `{dir}`. */
  bytes?(place: Place): number | Promise<number>;
  /** Why expectations are not tried: the reasons by id, group, or beginning of ids (`"mastra/list-*"`). Reports show them. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Why expectations fail: the reasons by id. One that begins to pass fails the suite. */
  readonly expectFail?: Readonly<Record<string, string>>;
}

export type Status = "passed" | "failed" | "skipped" | "expected failure" | "unexpected pass";

/** What has become of an expectation. */
export interface Result {
  readonly id: string;
  readonly group: Group;
  readonly level: Level;
  readonly source: Source;
  readonly title: string;
  readonly status: Status;
  /** Why it was skipped, or why its failure was expected. */
  readonly reason?: string;
  /** What the store has done instead. */
  readonly message?: string;
  readonly ms: number;
}

/** Something that was measured. */
export interface Figure {
  readonly id: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

/** What the suite that the framework itself publishes has said. */
export interface Upstream {
  readonly package: string;
  readonly version: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The names of the failed tests. */
  readonly failures: readonly string[];
  /** Why it could not be run. */
  readonly error?: string;
}

/** The results of one store. */
export interface Report {
  readonly contract: string;
  /** The version of this package. */
  readonly suite: string;
  readonly store: { readonly name: string; readonly version?: string };
  /** Without passwords. */
  readonly target: string;
  /** When the run began, as an ISO date. */
  readonly ran: string;
  readonly machine: string;
  readonly seed: number;
  /** Undefined if there is no such suite, it is not installed, or it was not wanted. */
  readonly upstream?: Upstream;
  readonly results: readonly Result[];
  readonly figures: readonly Figure[];
}
