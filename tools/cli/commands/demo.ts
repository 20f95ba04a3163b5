import { join, relative } from "node:path";
import { Command } from "commander";
import { quote } from "../../../ts/bridge/errors.js";
import { safeText, shellWord } from "../../../ts/bridge/json-form/json-text.js";
import { command } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import { createAt, createFree, removeDatabase } from "../new-database.js";
import { plural } from "../units.js";
import { type StudioOptions, serve, withStudioOptions } from "./studio.js";

interface Options extends StudioOptions {
  db?: string;
  out?: string;
  studio?: boolean;
}

const NAME = "forkpoint-demo.db";

/** The pace in a terminal lets a person follow the steps. */
const paces = { terminal: { step: 250, killAfter: 800 }, script: { step: 0, killAfter: 20 } };

const help = `
Runs a small refund agent, and kills its process in the middle of a step. Then it resumes the run, forks it with another
value, and leaves another run that waits for a person. It calls no model and needs no key. In a terminal, it then opens
the studio on the new database. In a script, it ends after the runs unless you pass --studio.

  forkpoint demo
  forkpoint demo --no-studio --out /tmp/demo.db`;

export const demo = () =>
  withStudioOptions(
    command<Options>("demo", "show a crash, a resume, a fork and an approval, in a new database", show, "itself")
      .option("--out <path>", `the path of the new database (default: ${NAME}, or the next free name)`)
      .option("--studio", "open the studio at the end (default: in a terminal)")
      .option("--no-studio", "end after the runs"),
  ).addHelpText("after", help);

/** The process that the demo kills. */
export const demoAgent = (): Command =>
  command<object>("demo-agent", "run the agent of the demo", work, "itself").arguments("<path> <run> <step> <ms>");

async function work(_context: Context, _options: object, ...args: Array<string | undefined>): Promise<never> {
  const [path = "", runId = "", step = "", ms] = args;
  const { runAgent } = await import("../demo.js");
  return runAgent(path, runId, step, Number(ms));
}

async function show(context: Context, options: Options): Promise<number> {
  const { output } = context;
  const { db, out, studio = process.stdout.isTTY && !output.json } = options;
  if (db !== undefined) throw new UsageError("the demo creates its own database: pass its path with --out, not --db");
  const path = out === undefined ? createFree(NAME) : createAt(out);
  const { facts, runs } = await perform(context, path);
  const next = nextCommands(runs, path);
  const answer = { path, ...facts, next };
  if (!output.json) {
    const checkpoints = facts.runs.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
    const has = `${plural(facts.runs.length, "run")} and ${plural(checkpoints, "checkpoint")}`;
    output.print("");
    output.print(`${output.style("bold", safeText(path))} has ${has}. Try:`);
    for (const line of studio ? next : [...next, `npx forkpoint studio ${dbFlag(path)}`]) output.print(`  ${line}`);
    output.print("");
    output.print(`Use LangGraph? See ${guide("langgraph.md")}. Other frameworks: index.md in the same folder.`);
  }
  if (!studio) {
    if (output.json) output.printJson(answer);
    return exitCodes.done;
  }
  // The studio may fail, for example because its port is taken. The runs are stored in any case.
  await output.flush();
  return serve(context, await context.inspect(path, options.write), options, answer);
}

/** Runs the demo on a new database. Removes the database if the demo fails. */
async function perform(context: Context, path: string) {
  const { output, signal } = context;
  const say = async (line: string) => {
    if (output.json) return;
    await output.stream(`${line}\n`);
    await output.flush();
  };
  const undo = () => removeDatabase(path);
  process.once("exit", undo);
  try {
    await say("A refund agent with 5 steps. It needs no model and no key: its answers are fixed.\n");
    const { runDemo, runs } = await import("../demo.js");
    const pace = process.stdout.isTTY && !output.json ? paces.terminal : paces.script;
    const facts = await runDemo({ path, pace, signal, style: output.style, say });
    return { facts, runs };
  } catch (error) {
    undo();
    context.done = `${quote(path)} was removed`;
    throw error;
  } finally {
    process.off("exit", undo);
  }
}

/** Returns the path of a guide in the package. */
function guide(name: string): string {
  const file = join(__dirname, "../../docs", name);
  const near = relative(process.cwd(), file);
  return safeText(near.startsWith("..") ? file : near);
}

const dbFlag = (path: string) => `--db ${process.platform === "win32" ? windowsWord(path) : shellWord(path)}`;

/** Quotes a path for cmd and PowerShell, if it needs that. */
function windowsWord(path: string): string {
  return /^[\w@+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
}

function nextCommands({ crashed, fork }: { crashed: string; fork: string }, path: string): string[] {
  return [
    `show ${crashed} --tree`,
    `diff ${crashed} --to-run ${fork} --part state`,
    `fork ${crashed} --step 3 --set risk=0.6`,
  ].map((words) => `npx forkpoint ${words} ${dbFlag(path)}`);
}
