/** The types of the shape of a program. This module uses nothing of Node, because the page of the studio sees them. */

/** What a store knows of a version of a program. It is stored once, under its hash: see `programs.ts`. */
export interface ProgramShape {
  /** The name of the program, if the checkpoints do not have it. */
  program?: string | undefined;
  /** The version that the user gave the program. */
  version?: string | undefined;
  /** The nodes or steps. */
  nodes: ProgramNode[];
  /** An empty list: the order of the parts is unknown. Then another version of the program is a difference. */
  edges: ProgramEdge[];
  /** The names of the fields of the state. */
  fields?: string[] | undefined;
}

export interface ProgramNode {
  name: string;
  /** The class of what the node does to the world, if the framework has such classes: `"read"`, `"write"`. */
  effect?: string | undefined;
  /** The type of the node, if the framework has types: `"tool"`, `"router"`. */
  kind?: string | undefined;
}

/** An edge. The places before the first and after the last node have the names that the framework gives them. */
export interface ProgramEdge {
  from: string;
  to: string;
  /** The node decides at run time whether the edge is followed. */
  conditional?: true | undefined;
  /**
   * The names of all nodes that `to` waits for, in the order that matters to the framework. Each of them has an edge with
   * this list.
   */
  joins?: string[] | undefined;
}

/** The version of a program. */
export interface ProgramVersion {
  /** The version that the program was given: the option `version`. Null: none. */
  version: string | null;
  /** Names the nodes, the edges, the fields and the version. It differs if one of them differs. */
  shape: string;
}

/** Where a run stands. */
export interface ProgramPosition {
  /** The nodes that have run, and the place before the first node. */
  done: string[];
  /** The nodes that run next, or that wait or have failed. */
  next: string[];
  /** Names of what has run, some of which may be no nodes. A name counts if the program has a node with it. */
  ran?: string[];
  /** Joins that some of their nodes have reached: the names of the nodes, each but the first one after a plus sign. */
  waits?: Array<{ to: string; joins: string }>;
}
