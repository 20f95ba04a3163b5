/** The option `program` of stores, and the error for a write to a run of another program. */

import { ForkpointError, quote, typeError } from "../bridge/errors.js";
import { flag, programOption, readRecord, type OptionParser } from "./options.js";

/** The program that uses a store. */
export interface OwnProgram {
  name: string;
  /** If true, the program takes over the runs of other programs. */
  force: boolean;
}

/** The option `program`: a name, or a name with `force`. */
export type ProgramOption = string | { name: string; force?: boolean };

const parsers = { name: programOption, force: flag };

export const ownProgramOption: OptionParser<OwnProgram> = (value, option) => {
  if (typeof value !== "object" || value === null) return { name: programOption(value, option), force: false };
  const { name, force = false } = readRecord(value, option, parsers);
  if (name === undefined) throw typeError(`${option} has no name: pass { name, force }, or the name itself`);
  return { name, force };
};

/** Returns true if a run belongs to another program: both have a name, and the names differ. */
export function isOther(made: string | undefined, own: string | undefined): made is string {
  return made !== undefined && own !== undefined && made !== own;
}

/**
 * Makes the error for a write to a run of another program. `run` names the run, and `force` says how to take it over,
 * for example `pass { force: true }`.
 */
export function otherProgram(run: string, made: string, own: string, force: string): ForkpointError {
  const message =
    `${run} belongs to the program ${quote(made)}, and this is ${quote(own)}: nothing was stored. Continue it with ` +
    `${quote(made)}. To take it over, ${force}: it then belongs to ${quote(own)}`;
  const error = new ForkpointError("CONFLICT", message);
  refusals.add(error);
  return error;
}

const refusals = new WeakSet<object>();

/** Returns true for an error of {@link otherProgram}. */
export const isOtherProgram = (error: unknown): boolean =>
  typeof error === "object" && error !== null && refusals.has(error);
