/** Makes the program with all commands. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { withCommonOptions } from "./command.js";
import { answer } from "./commands/answer.js";
import { backup } from "./commands/backup.js";
import { restore } from "./commands/restore.js";
import { complete, completion } from "./commands/completion.js";
import { copy } from "./commands/copy.js";
import { demo, demoAgent } from "./commands/demo.js";
import { diff } from "./commands/diff.js";
import { doctor } from "./commands/doctor.js";
import { effects } from "./commands/effects.js";
import { drainCheck } from "./commands/drain-check.js";
import { exportRuns } from "./commands/export.js";
import { fork } from "./commands/fork.js";
import { grep } from "./commands/grep.js";
import { get } from "./commands/get.js";
import { importRuns } from "./commands/import.js";
import { label } from "./commands/label.js";
import { ls } from "./commands/ls.js";
import { migrate } from "./commands/migrate.js";
import { prune } from "./commands/prune.js";
import { rm } from "./commands/rm.js";
import { settle } from "./commands/settle.js";
import { show } from "./commands/show.js";
import { stats } from "./commands/stats.js";
import { stop } from "./commands/stop.js";
import { studio } from "./commands/studio.js";
import { tail } from "./commands/tail.js";
import { usage } from "./commands/usage.js";
import { vacuum } from "./commands/vacuum.js";
import { verify } from "./commands/verify.js";

const groups = {
  "Try:": [demo],
  "Inspect:": [ls, show, get, grep, diff, usage, effects, tail, stats, studio],
  "Fork, answer, stop, label and settle:": [fork, answer, stop, label, settle],
  "Copy:": [exportRuns, importRuns, copy, backup, restore],
  "Upgrade:": [migrate],
  "Clean up:": [prune, rm, vacuum],
  "Check:": [doctor, verify, drainCheck],
  "Shell:": [completion],
};

const help = `
Find a run, see what its last step changed, and fork it with another value:
  forkpoint ls
  forkpoint show <run> --tree
  forkpoint diff <run>
  forkpoint fork <run> --set scratch.confidence=0.9

Exit codes: 0 success, 1 differences or errors found, nothing found by grep, or no answer to stop, 2 wrong usage, 3 not found or runs that don't fit, 4 not confirmed, 5 failed.`;

/** Makes the program. Calls `adopt` for each command. */
export function makeProgram(adopt: (command: Command) => void): Command {
  const program = withCommonOptions(new Command("forkpoint"))
    .description("Inspect a Forkpoint database: the runs of your agents, step by step.")
    .version(versionOf(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .enablePositionalOptions()
    .addHelpText("after", help);
  adopt(program);
  for (const [title, commands] of Object.entries(groups)) {
    program.commandsGroup(title);
    for (const make of commands) program.addCommand(make());
  }
  for (const hidden of [complete(program), demoAgent()]) program.addCommand(hidden, { hidden: true });
  program.helpCommand("help [command]", "print the help of a command");
  for (const command of program.commands) {
    command.helpOption("-h, --help", "print this help");
    adopt(command);
  }
  return program;
}

function versionOf(): string {
  const file = join(__dirname, "../../package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
