/** The entry of the command line, `npx forkpoint`: reads the arguments, runs the command, and ends the process. */

import { type Command, CommanderError } from "commander";
import { fail } from "./execute.js";
import { UsageError } from "./errors.js";
import { Output, ignoreStreamErrors } from "./output.js";
import { makeProgram } from "./program.js";
import { quote } from "../../ts/bridge/errors.js";
import { isDatabase } from "./database.js";
import { shellWord } from "../../ts/bridge/json-form/json-text.js";
import { suggestion } from "./suggest.js";

async function main(args: string[]): Promise<void> {
  ignoreStreamErrors();
  const end = args.indexOf("--");
  const json = (end < 0 ? args : args.slice(0, end)).includes("--json");
  const output = new Output(json, "auto");
  const program = makeProgram((command) => prepare(command, json));
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    const problem = usageErrorOf(error, program, args);
    if (problem !== undefined) process.exitCode = fail(output, problem);
  }
}

/** Makes the command throw its errors, so that they are shown like other errors. */
function prepare(command: Command, json: boolean): void {
  command
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({
      outputError: () => {},
      // Without a command, Commander writes the help here.
      writeErr: (text) => (json ? undefined : process.stderr.write(text)),
    });
}

/** Returns undefined if the user asked for the help or the version. */
function usageErrorOf(error: unknown, program: Command, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError)) return error;
  const { exitCode, code, message } = error;
  if (exitCode === 0) return undefined;
  if (code === "commander.help") return new UsageError("no command given: `forkpoint --help` lists the commands");
  if (code === "commander.unknownCommand") return new UsageError(unknownCommand(message, program));
  const isExcess = code === "commander.excessArguments";
  const positional = isExcess ? databaseAmong(args) : undefined;
  if (positional !== undefined) {
    return new UsageError(`${quote(positional)} is a database: pass it with --db ${shellWord(positional)}`);
  }
  if (isExcess && /'ls'/.test(message)) {
    return new UsageError("ls takes no argument: filter with --match <text>, or see a run with `forkpoint show <run>`");
  }
  return new UsageError(message.replace(/^error: /, "").replace(/\n(\(Did you mean [^]*\?\))$/, " $1"));
}

function unknownCommand(message: string, program: Command): string {
  const [, name = "", near = ""] = /'([^]*)'\n?(\(Did you mean [^]*)?$/.exec(message) ?? [];
  if (looksLikeDatabase(name))
    return `${quote(name)} is a database: name a command, such as ls --db ${shellWord(name)}`;
  const known = program
    .createHelp()
    .visibleCommands(program)
    .map((each) => each.name());
  return `unknown command '${name}'${suggestion(name, known, near)}`;
}

/** Returns the argument that is the path or URL of a database. */
function databaseAmong(args: readonly string[]): string | undefined {
  return args
    .slice(1)
    .find((each, at) => !each.startsWith("-") && !/^(-d|--db)$/.test(args[at]!) && looksLikeDatabase(each));
}

/** Also true for a missing path, which the command with `--db` reports. */
function looksLikeDatabase(word: string): boolean {
  return isDatabase(word) || /\.(?:db|sqlite3?)$/i.test(word);
}

void main(process.argv.slice(2));
