/** The entry of the command line, `npx forkpoint`: reads the arguments, runs the command, and ends the process. */

import { type Command, CommanderError } from "commander";
import { fail } from "./execute.js";
import { UsageError } from "./errors.js";
import { Output, ignoreStreamErrors } from "./output.js";
import { makeProgram } from "./program.js";

async function main(args: string[]): Promise<void> {
  ignoreStreamErrors();
  const end = args.indexOf("--");
  const json = (end < 0 ? args : args.slice(0, end)).includes("--json");
  const output = new Output(json, "auto");
  const program = makeProgram((command) => prepare(command, json));
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    const problem = usageErrorOf(error);
    if (problem !== undefined) process.exitCode = fail(output, problem);
  }
}

/** Makes the command throw its errors, so that they are shown like all others. */
function prepare(command: Command, json: boolean): void {
  command
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({
      outputError: () => {},
      // Commander writes the help here if no command was given.
      writeErr: (text) => (json ? undefined : process.stderr.write(text)),
    });
}

/** Returns undefined if the user asked for the help or the version. */
function usageErrorOf(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  const { exitCode, code, message } = error;
  if (exitCode === 0) return undefined;
  if (code === "commander.help") return new UsageError("no command given: `forkpoint --help` lists the commands");
  return new UsageError(message.replace(/^error: /, "").replace(/\n(\(Did you mean [^]*\?\))$/, " $1"));
}

void main(process.argv.slice(2));
