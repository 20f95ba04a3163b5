/** The types of a search's results. */

import type { Change, CheckpointRef, Space, Status } from "../plugin/views.js";

/** The text around a match. */
export interface Snippet {
  before: string;
  match: string;
  after: string;
}

/** The progress of a search. */
export interface SearchProgress {
  /** The number of searched runs. A namespace counts as a run. */
  runs: number;
  checkpoints: number;
  hits: number;
  /** The number of unreadable values, by the name of their serializer. */
  unreadable: Record<string, number>;
  /** The number of unreadable checkpoints, which are damaged or too large. */
  damaged: number;
}

/** A match of a search. */
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
  /** True if only the key of the value matches. */
  inKey: boolean;
  /** The first match in the value, and the text around it. */
  snippet: Snippet;
}

/** Selects what is searched, and how. */
export interface SearchOptions {
  /** Whether the text is a regular expression of JavaScript. Default: false. */
  regex?: boolean | undefined;
  /** Whether upper and lower case are the same. Default: false. */
  ignoreCase?: boolean | undefined;
  space?: Space | undefined;
  /** Only the run with this id. */
  run?: string | undefined;
  /** Only this namespace. Default: all, including subgraphs. */
  ns?: string | undefined;
  /** Only runs with this status. */
  status?: Status | undefined;
  /** Only runs that have all of these labels. */
  label?: Record<string, string> | undefined;
  /** Whether all checkpoints are searched. Each place is then reported at its first checkpoint. Default: false. */
  allSteps?: boolean | undefined;
  /** The number of hits after which the search ends. Default: no limit. */
  limit?: number | undefined;
  /** Ends the search. */
  signal?: AbortSignal | undefined;
  /** Called while the search reads, and at its end. */
  onProgress?: ((progress: SearchProgress) => void) | undefined;
}
