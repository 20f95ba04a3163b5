/** What a search shows. */

import type { Change, CheckpointRef, Space, Status } from "../plugin/views.js";

/** The text around a match. */
export interface Snippet {
  before: string;
  match: string;
  after: string;
}

/** How far a search has come. */
export interface SearchProgress {
  /** How many runs it has read. A namespace counts as a run. */
  runs: number;
  checkpoints: number;
  hits: number;
  /** How many values it could not read, by the name of the serializer that wrote them. */
  unreadable: Record<string, number>;
  /** How many checkpoints it could not read, because they are damaged or too large. */
  damaged: number;
}

/** A place that a search has found. */
export interface SearchHit extends CheckpointRef {
  ns: string | null;
  /** The index of the checkpoint in its run. */
  step: number;
  label: string | null;
  /** When the checkpoint was saved, in ms since the epoch. */
  savedAt: number;
  part: Change["part"];
  /** The path of the value in the part. */
  path: Array<string | number>;
  /** True if the key of the value matches, and not the value. */
  inKey: boolean;
  /** The first match in the value, and the text around it. */
  snippet: Snippet;
}

/** What to search, and how. */
export interface SearchOptions {
  /** Whether the text is a regular expression of JavaScript. Default: false. */
  regex?: boolean | undefined;
  /** Whether upper and lower case are the same. Default: false. */
  ignoreCase?: boolean | undefined;
  space?: Space | undefined;
  /** Only the run with this id. */
  run?: string | undefined;
  /** Only this namespace. Default: all, with the subgraphs. */
  ns?: string | undefined;
  /** Only runs with this status. */
  status?: Status | undefined;
  /** Only runs that have all of these labels. */
  label?: Record<string, string> | undefined;
  /** Whether all checkpoints are searched. Each place is then found once, in the first checkpoint that has it. Default: false. */
  allSteps?: boolean | undefined;
  /** The number of hits after which the search ends. Default: no limit. */
  limit?: number | undefined;
  /** Ends the search. */
  signal?: AbortSignal | undefined;
  /** Called while the search reads, and at its end. */
  onProgress?: ((progress: SearchProgress) => void) | undefined;
}
