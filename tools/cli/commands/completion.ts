/** `forkpoint completion` prints the completion script of a shell. The script calls `forkpoint complete`. */

import { RootCommand, script } from "@bomb.sh/tab";
import { Argument, Command } from "commander";
import { Context } from "../context.js";
import { Output } from "../output.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";

const shells = ["bash", "zsh", "fish", "powershell"] as const;

const OFFERED = 100;

const help = `
  bash:        forkpoint completion bash > ~/.local/share/bash-completion/completions/forkpoint
  zsh:         source <(forkpoint completion zsh)          # in ~/.zshrc
  fish:        forkpoint completion fish > ~/.config/fish/completions/forkpoint.fish
  powershell:  forkpoint completion powershell | Out-String | Invoke-Expression`;

export const completion = () =>
  new Command("completion")
    .description("print a completion script for your shell: commands, flags, values and run ids")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: (typeof shells)[number]) => script(shell, "forkpoint", "forkpoint"));

/** The command of the completion script: `forkpoint complete -- <words>`. It completes the last word. */
export const complete = (program: Command) =>
  new Command("complete").argument("[words...]").action(async (words: string[]) => {
    const runs = await runIds(program, words);
    tree(program, runs).parse(words);
    process.exit(0);
  });

function tree(program: Command, runs: string[]): RootCommand {
  const root = new RootCommand();
  addOptions(root, program);
  for (const command of program.createHelp().visibleCommands(program)) {
    const made = root.command(command.name(), command.description());
    addOptions(made, command);
    for (const argument of command.registeredArguments) {
      const offered = argument.name() === "run" ? runs : (argument.argChoices ?? []);
      made.argument(argument.name(), (offer) => offered.forEach((each) => offer(each, "")), argument.variadic);
    }
  }
  return root;
}

function addOptions(to: ReturnType<RootCommand["command"]>, command: Command): void {
  const options = command.createHelp().visibleOptions(command);
  for (const { long, short, required, optional, argChoices = [], description } of options) {
    if (!long) continue;
    const [name, alias] = [long.slice(2), short?.slice(1)];
    if (required || optional)
      to.option(name, description, (offer) => argChoices.forEach((each) => offer(each, "")), alias);
    else to.option(name, description, alias);
  }
}

/**
 * Returns the ids of runs that are safe in a shell. The shell could run other ids as commands. Returns nothing if the
 * database cannot be read.
 */
async function runIds(program: Command, words: string[]): Promise<string[]> {
  const [name] = words;
  const command = program.commands.find((each) => each.name() === name);
  if (command?.registeredArguments.every((argument) => argument.name() !== "run") ?? true) return [];
  const context = new Context({ ...dbOf(words) }, new Output(true, "never"), new AbortController().signal);
  try {
    const inspector = await context.open();
    const { items } = await inspector.runs({ limit: OFFERED });
    return items.map(({ run }) => run).filter((id) => /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(id) && safeText(id) === id);
  } catch {
    return [];
  } finally {
    await context.close();
  }
}

function dbOf(words: string[]): { db?: string } {
  const at = words.findLastIndex((word) => word === "--db" || word === "-d");
  const joined = words.findLast((word) => word.startsWith("--db="));
  const db = at >= 0 ? words[at + 1] : joined?.slice("--db=".length);
  return db === undefined || db === "" ? {} : { db };
}
