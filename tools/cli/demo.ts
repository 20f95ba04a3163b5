/**
 * The work of `forkpoint demo`. It is in a separate bundle, `dist/cli/demo.js`, so that other commands do not load it.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { ForkpointError } from "../../ts/bridge/errors.js";
import { safeJson } from "../../ts/bridge/json-form/json-text.js";
import { openStore } from "../../ts/index.js";
import { openInspector } from "../../ts/inspect/index.js";
import { type During, type Refund, type StepEvent, follow, graphOf, stepNames, workflowOf } from "./demo/agent.js";
import { ENDLESS, crash } from "./demo/crash.js";
import type { Style } from "./style.js";
import type { Status } from "../../ts/plugin/views.js";
import type { Store } from "../../ts/store/store.js";

/** The runs of the demo. */
export const runs = { crashed: "refund-101", fork: "refund-101-fork", waiting: "refund-102" };

/** The step during which the process is killed, and the step after which the run is forked. */
const KILLED = "write_reply";
const FORKED_AFTER = "score_risk";

const RISK = 0.9;

export interface Stage {
  /** The database, which is still empty. */
  path: string;
  /** The duration of a step, and the time before the kill in the killed step, in ms. */
  pace: { step: number; killAfter: number };
  signal: AbortSignal;
  style: Style;
  /** Prints a line. */
  say(line: string): Promise<void>;
}

/** The results of the demo. */
export interface Shown {
  crash: { pid: number; signal: string; step: string };
  resume: { pid: number; steps: number; skipped: string[]; ran: string[] };
  fork: { run: string; after: string; risk: number; outcome: string; unforked: string };
  approval: { run: string; question: unknown };
  runs: Array<{ space: string; run: string; status: Status | null; checkpoints: number }>;
}

/** Runs the agent in a process, kills the process, resumes the run here, forks it, and asks a person. */
export async function runDemo(stage: Stage): Promise<Shown> {
  const crashed = await showCrash(stage);
  const store = await openStore(stage.path);
  try {
    const resume = await showResume(stage, store);
    const fork = await showFork(stage, store);
    const approval = await showApproval(stage, store);
    const listed = await (await openInspector(store)).runs({ withWhy: true });
    const found = listed.items.map(({ space, run, status, checkpoints }) => ({ space, run, status, checkpoints }));
    return { crash: crashed, resume, fork, approval, runs: found };
  } finally {
    await store.close();
  }
}

const WIDTH = Math.max(...stepNames.map((name) => name.length));

const heading = ({ style }: Stage, title: string, text: string) => `${style("bold", title.padEnd(10))}${text}`;

const stepLine = ({ style }: Stage, sign: string, format: Parameters<Style>[0], step: string, text: string) =>
  `  ${style(format, sign)} ${step.padEnd(WIDTH)}  ${text}`;

const textOf = (update: Partial<Refund>) =>
  Object.entries(update)
    .map(([key, value]) => `${key} ${safeJson(value)}`)
    .join(", ");

const storedLine = (stage: Stage, step: string, update: Partial<Refund>) =>
  stepLine(stage, "✓", "green", step, textOf(update));

const immediately: During = () => Promise.resolve();

const pacing =
  ({ pace, signal }: Stage): During =>
  () =>
    sleep(pace.step, undefined, { signal });

async function showCrash(stage: Stage): Promise<Shown["crash"]> {
  const { path, pace, signal, style, say } = stage;
  let pid = 0;
  const by = await crash({
    path,
    runId: runs.crashed,
    step: KILLED,
    pace,
    signal,
    onStart: (started) => {
      pid = started;
      return say(heading(stage, "Crash", `run ${runs.crashed} in process ${pid}`));
    },
    onEvent: async (event) => {
      if (event.at === "stored") await say(storedLine(stage, event.step, event.update));
      else if (event.step === KILLED) await say(stepLine(stage, "…", "cyan", event.step, style("dim", "is running")));
    },
  });
  await say(stepLine(stage, "✗", "red", KILLED, `process ${pid} was killed (${by})`));
  return { pid, signal: by, step: KILLED };
}

async function showResume(stage: Stage, store: Store): Promise<Shown["resume"]> {
  const { signal, say, style } = stage;
  const { crashed } = runs;
  const { pid } = process;
  await say(heading(stage, "Resume", `run ${crashed} in process ${pid}`));
  const checkpoints = await workflowOf(store, unused).listCheckpoints(crashed);
  const stored = checkpoints.filter(({ stepIndex }) => stepIndex >= 0).map(({ stepName }) => stepName);
  const what = stored.length === 1 ? "its result is stored" : "their results are stored";
  await say(`  ${style("dim", "·")} ${stored.join(", ")}  ${style("dim", `skipped: ${what}`)}`);
  const ran: string[] = [];
  for await (const event of follow(store, { runId: crashed, resume: true, signal }, pacing(stage))) {
    if (event.at === "started") ran.push(event.step);
    else await say(storedLine(stage, event.step, event.update));
  }
  const skipped = stored.filter((step) => !ran.includes(step));
  const steps = stepNames.length;
  await say(style("bold", `  ${skipped.length} of ${steps} steps were not repeated`));
  return { pid, steps, skipped, ran };
}

async function showFork(stage: Stage, store: Store): Promise<Shown["fork"]> {
  const { signal, say } = stage;
  const { crashed, fork } = runs;
  const workflow = workflowOf(store, unused);
  const checkpoints = await workflow.listCheckpoints(crashed);
  const from = checkpoints.find(({ stepName }) => stepName === FORKED_AFTER);
  const before = checkpoints.at(-1)?.state.outcome;
  if (from === undefined || before === undefined) throw lost(crashed);
  const inspector = await openInspector(store, { write: true });
  await inspector.fork({ space: "agentium", run: crashed, id: from.id }, { set: [["risk", RISK]], as: fork });
  const text = `run ${fork}: after ${FORKED_AFTER}, with risk ${RISK} instead of ${from.state.risk}`;
  await say(heading(stage, "Fork", text));
  let last: Partial<Refund> = {};
  for await (const event of follow(store, { runId: fork, resume: true, signal }, immediately)) {
    if (event.at === "stored") last = event.update;
  }
  const outcome = last.outcome;
  if (outcome === undefined) throw lost(fork);
  const instead = `${textOf({ outcome })} instead of ${safeJson(before)}`;
  await say(stepLine(stage, "✓", "green", stepNames.at(-1)!, instead));
  return { run: fork, after: FORKED_AFTER, risk: RISK, outcome, unforked: before };
}

async function showApproval(stage: Stage, store: Store): Promise<Shown["approval"]> {
  const { signal, say } = stage;
  const { waiting } = runs;
  const graph = graphOf(store, immediately);
  const { interrupts } = await graph.invoke({ order: "A-102" }, { threadId: waiting, signal });
  const [asked] = interrupts;
  if (asked === undefined) throw lost(waiting);
  await say(heading(stage, "Approval", `run ${waiting} waits for a person: ${safeJson(asked.value)}`));
  return { run: waiting, question: asked.value };
}

/** A workflow that only reads runs no step. */
const unused = () => Promise.reject(new Error("no step runs here"));

const lost = (run: string) =>
  new ForkpointError("CONFLICT", `another process has changed the run ${run} during the demo: run the demo again`);

/** The work of the killed process: runs the agent, and reports the events of its steps, one per line. */
export async function runAgent(path: string, runId: string, endless: string, pace: number): Promise<never> {
  // The parent process holds the other end of stdin.
  process.stdin
    .on("error", () => {})
    .on("close", () => process.exit(1))
    .resume();
  const store = await openStore(path);
  const during = (step: string) => sleep(step === endless ? ENDLESS : pace);
  for await (const event of follow(store, { runId }, during)) tell(event);
  throw new Error("the process was not killed");
}

function tell(event: StepEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
