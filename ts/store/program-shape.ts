/** The types of a program's shape. Uses no Node module, because the studio's page imports it. */

/** The store's data on a version of a program. It is stored once, under its hash: see `stored-programs.ts`. */
export interface ProgramShape {
  /** The name of the program, unless the checkpoints have it. */
  program?: string | undefined;
  /** The version that the user gave the program. */
  version?: string | undefined;
  /** The nodes or steps. */
  nodes: ProgramNode[];
  /** If empty, the order of the parts is unknown. Another version of the program then counts as a difference. */
  edges: ProgramEdge[];
  /** The names of the fields of the state. */
  fields?: string[] | undefined;
}

export interface ProgramNode {
  name: string;
  /** The class of the node's effects on other systems, if the framework has such classes: `"read"`, `"write"`. */
  effect?: string | undefined;
  /** The type of the node, if the framework has types: `"tool"`, `"router"`. */
  kind?: string | undefined;
}

/** An edge. The framework names the places before the first and after the last node. */
export interface ProgramEdge {
  from: string;
  to: string;
  /** True if the node decides at run time whether to follow the edge. */
  conditional?: true | undefined;
  /**
   * The names of all nodes that `to` waits for, in the framework's order. Each of these nodes has an edge with this
   * list.
   */
  joins?: string[] | undefined;
}

/** The version of a program. */
export interface ProgramVersion {
  /** The option `version` of the program. Null: none. */
  version: string | null;
  /** The hash of the nodes, the edges, the fields and the version. */
  shape: string;
}

/** The position of a run in its program. */
export interface ProgramPosition {
  /** The nodes that have run, and the place before the first node. */
  done: string[];
  /** The nodes that run next, wait or have failed. */
  next: string[];
  /** Names of finished work, which may include names that are no nodes. Only the names of the program's nodes count. */
  ran?: string[];
  /** Joins that only some of their nodes have reached. `joins` lists the node names, separated by plus signs. */
  waits?: Array<{ to: string; joins: string }>;
}
