/** Answers to the questions of runs. Each question has one answer, from a person or a program. */

import { ForkpointError, quote } from "../bridge/errors.js";

/** An answer, its author and its time. */
export interface Answered {
  value: unknown;
  /** The author's name. Null: the author gave no name, or is a program. */
  by: string | null;
  /** In ms since the epoch. */
  at: number;
  /** Set if the answer came from a program. */
  program?: unknown;
}

/** Makes the error for a question that has an answer. */
export function hasAnswer(run: string, { by, at, value, program }: Answered): ForkpointError {
  const who = program !== undefined ? " by the program" : by === null ? "" : ` by ${quote(by)}`;
  const what = quoted(value);
  const message = `the question of ${quote(run)} was answered${who} at ${new Date(at).toISOString()} with ${what}: nothing was stored`;
  return new ForkpointError("CONFLICT", message);
}

/** The longest text of an answer in an error. */
const LONGEST = 200;

function quoted(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // The value cannot be written as JSON.
  }
  text ??= String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text;
}
