/** Makes commands, with the flags that they share. */

import { Argument, Command, Option } from "commander";
import { SPACES } from "../../ts/contracts/registry.js";
import type { CommonOptions, Context } from "./context.js";
import { UsageError } from "./errors.js";
import { type Stops, execute } from "./execute.js";
import { parseSize } from "./units.js";

/** Runs a command. Returns an exit code, or undefined for the default one. */
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
  stops: Stops = "immediately",
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
    .option("-d, --db <path or url>", "the database (default: FORKPOINT_URL, else the only database in this directory)")
    .option("--json", "print JSON, on one line")
    .addOption(new Option("--color <when>", "when to use colors (default: auto)").choices(["auto", "always", "never"]))
    .option("--serializer <module>", "a module that exports your own serializer; its code is run", repeated)
    .addOption(
      parsed("--max-payload-bytes <size>", "read larger states than 64MiB, up to this size: 500MB, 900MiB", payloadOf),
    );
}

function payloadOf(text: string): number {
  const bytes = parseSize(text);
  if (bytes >= 1 && bytes <= 900 * 2 ** 20) return bytes;
  throw new UsageError("expected a size up to 900MiB");
}

/** Collects the values of a repeatable option. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value];

/** Adds the flags of commands that ask for confirmation. */
export function dangerous(command: Command): Command {
  return command
    .option("-y, --yes", "don't ask for confirmation")
    .option("--dry-run", "show what would be done, and do nothing");
}

export function spaceOption(): Option {
  return new Option("--space <space>", "the framework").choices(SPACES);
}

/** Makes an option whose value a function reads. The function may throw a {@link UsageError}. */
export function parsed<T>(flags: string, description: string, parse: (text: string) => T): Option {
  const option = new Option(flags, description);
  return option.argParser((text: string) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(`${option.long}: ${error.message}, but found ${JSON.stringify(text)}`);
    }
  });
}

export function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw new UsageError(
      Number.isFinite(least) ? `expected a whole number of at least ${least}` : "expected a whole number",
    );
  };
}

/** The argument that names a run. The shell completes it. */
export function runArgument(required = true): Argument {
  return new Argument(required ? "<run>" : "[run]", "the id of a run, or a prefix of at least 4 characters");
}

export function runsArgument(): Argument {
  return new Argument("[run...]", "ids of runs, or prefixes of at least 4 characters (default: all runs)");
}
