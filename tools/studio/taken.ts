/** The form of a taken run, and its packing into a file. Uses nothing of Node. */

import { setKey } from "../../ts/bridge/json-form/form.js";
import type { CourseAnswer } from "./course-answer.js";
import type { RunUsage } from "../../ts/inspect/conversation/usage-views.js";
import type { CheckpointDetail, CheckpointInfo, EffectDetail, RunInfo } from "../../ts/plugin/views.js";

/** A checkpoint, or the reason why it could not be read. */
export type TakenCheckpoint = CheckpointDetail | { checkpoint: CheckpointInfo; damage: string };

/** A run, or the namespace of one of its subgraphs. */
export interface TakenRun {
  run: RunInfo;
  course: CourseAnswer;
  /** The tokens of the run. Null: the run was removed in the meantime. */
  usage: RunUsage | null;
  effects: EffectDetail[];
  /** The newest first. */
  checkpoints: TakenCheckpoint[];
  /** The number of earlier checkpoints that are not in the file. */
  earlier: number;
}

/** The content of a file. */
export interface Taken {
  /** Names the form, and its version. */
  forkpoint: "run/1";
  /** The version of forkpoint. */
  version: string;
  /** When it was made, in ms since the epoch. */
  made: number;
  /** The run itself comes first. */
  runs: TakenRun[];
  /** The left-out paths, and the number of values that each has left out. */
  leftOut: Record<string, number>;
}

/**
 * Packs values, so that equal parts are written once. Most of a state is the same in the next one.
 *
 * A list or an object of the result has only numbers, words, short texts, and lists of one number, which is an index in
 * `pool`.
 */
export class Packer {
  readonly #pool: string[] = [];
  readonly #known = new Map<string, number>();
  /** The length of the text so far, in characters. */
  size = 0;

  /** Returns the JSON text of the packed value. */
  add(value: unknown): string {
    if (typeof value === "string")
      return value.length <= SHORT ? JSON.stringify(value) : this.addText(JSON.stringify(value));
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
    if (Array.isArray(value)) return this.addText(`[${value.map((each) => this.add(each)).join()}]`);
    const fields: string[] = [];
    for (const [key, each] of Object.entries(value)) {
      if (each !== undefined) fields.push(`${JSON.stringify(key)}:${this.add(each)}`);
    }
    return this.addText(`{${fields.join()}}`);
  }

  /** Adds the text of a list or an object with parts from `add`. */
  addText(text: string): string {
    let at = this.#known.get(text);
    if (at === undefined) {
      at = this.#pool.push(text) - 1;
      this.#known.set(text, at);
      this.size += text.length + 1;
    }
    return `[${at}]`;
  }

  /** Yields the text of the pool and of a value from `add`. */
  *pieces(root: string): Generator<string> {
    yield '{"pool":[';
    for (const [at, entry] of this.#pool.entries()) yield at === 0 ? entry : `,${entry}`;
    yield `],"root":${root}}`;
  }
}

/** The minimum length of a text in the pool, in characters. Shorter texts are written in place. */
const SHORT = 12;

interface Packed {
  pool: unknown[];
  root: unknown;
}

/** Returns the unpacked value. Its equal parts are the same objects, so nothing may change them. */
export function unpack({ pool, root }: Packed): unknown {
  const made: unknown[] = [];
  const value = (part: unknown): unknown => (Array.isArray(part) ? entry((part as [number])[0]) : part);
  const entry = (at: number): unknown => {
    if (at in made) return made[at];
    const own = pool[at];
    if (Array.isArray(own)) made[at] = own.map(value);
    else if (typeof own === "object" && own !== null) {
      const record = {};
      for (const [key, each] of Object.entries(own)) setKey(record, key, value(each));
      made[at] = record;
    } else made[at] = own;
    return made[at];
  };
  return value(root);
}
