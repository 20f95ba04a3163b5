/** Answers to the questions of runs: each question has one, whoever stores it. */

import { ForkpointError, quote } from "../bridge/errors.js";

/** Who has answered a question, when, and what. */
export interface Answered {
  value: unknown;
  /** Null: the one who answered gave no name, or a program has answered. */
  by: string | null;
  /** In ms since the epoch. */
  at: number;
  /** Set if a program has answered itself. */
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
    // The value is no JSON.
  }
  text ??= String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text;
}
