/** Makes commands, with the flags that several of them have. */

import { Argument, Command, Option } from "commander";
import type { CommonOptions, Context } from "./context.js";
import { UsageError } from "./errors.js";
import { type Stops, execute } from "./execute.js";

/** Runs a command. Returns the exit code if it is not the usual one. */
export type Handler<Options> = (
  context: Context,
  options: Options & CommonOptions,
  ...args: Array<string | undefined>
) => Promise<number | void>;

/** Makes a command with the flags of every command. */
export function command<Options>(
  name: string,
  description: string,
  handler: Handler<Options>,
  stops: Stops = "at once",
): Command {
  const made = withCommonOptions(new Command(name).description(description));
  return made.action(async (...given: unknown[]) => {
    const options = { ...made.parent?.opts(), ...made.opts() } as Options & CommonOptions;
    const args = (given.slice(0, -2) as Array<string | string[] | undefined>).flat();
    await execute(options, stops, (context) => handler(context, options, ...args));
  });
}

export function withCommonOptions(command: Command): Command {
  return command
    .option("-d, --db <path or url>", "the database (default: FORKPOINT_URL, or the only one in this directory)")
    .option("--json", "one JSON document on one line")
    .addOption(new Option("--color <when>", "colours (default: auto)").choices(["auto", "always", "never"]))
    .option("--serializer <module>", "a module that exports a serializer of yours; it is run", repeated);
}

/** Collects the values of an option that may be given several times. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value];

/** Adds the flags of the commands that ask before they do something. */
export function dangerous(command: Command): Command {
  return command.option("-y, --yes", "does not ask").option("--dry-run", "says what would be done, and does nothing");
}

const spaces = ["agentos", "agentium", "storage", "langgraph", "tinyagents", "helix"];

export function spaceOption(): Option {
  return new Option("--space <space>", "the contract").choices(spaces);
}

/** An option whose value is read by a function that throws a {@link UsageError}. */
export function parsed<T>(flags: string, description: string, parse: (text: string) => T): Option {
  const option = new Option(flags, description);
  return option.argParser((text: string) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(`${option.long}: ${error.message}, and found ${JSON.stringify(text)}`);
    }
  });
}

export function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw new UsageError(
      Number.isFinite(least) ? `expected a whole number from ${least} on` : "expected a whole number",
    );
  };
}

/** A position of a run or a checkpoint, completed by the shell. */
export function runArgument(required = true): Argument {
  return new Argument(required ? "<run>" : "[run]", "the id of a run, or how the id begins (4 characters or more)");
}

export function runsArgument(): Argument {
  return new Argument("[run...]", "the ids of runs, or how they begin (4 characters or more; default: all)");
}
