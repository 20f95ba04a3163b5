/**
 * Runs a graph. The engine's state machine (`src/contract/tinyagents/graph`) decides what happens next and sends
 * commands. This file executes the commands and reports each outcome to the state machine. It calls the user's
 * functions and the checkpointer.
 */

import { RunDrainedError } from "../../shared/drain.js";
import { Driver } from "../../shared/driver.js";
import { ForkpointError, quote } from "../../../bridge/errors.js";
import { carrying } from "../../shared/failure.js";
import { type Format, formatOf } from "../../../bridge/serializer.js";
import { within } from "../../shared/time-limit.js";
import { readTargets } from "./definition.js";
import { type GraphParts, type GraphPlan, enter, fold, tooLong } from "./plan.js";
import {
  type Held,
  type HeldBoundary,
  type Loaded,
  loadCheckpoint,
  putBoundary,
  recordTasks,
  stepOf,
} from "./recorder.js";
import { runSubgraph } from "./subgraph.js";
import { type Outcome, callNode, makeContext } from "./task.js";
import { errorOf, isWaiting, nothing } from "./tasks.js";
import { Kept } from "./values.js";
import type { Boundary, GraphCommand, GraphEvent, GraphTool, GraphWhy, Target } from "./wire.js";
import { tinyagents } from "../wire.js";
import type { GraphEvent as Told, GraphResult } from "./events.js";
import type { MemorySnapshot, Subgraph } from "./node.js";

export class GraphExecution {
  readonly parts: GraphParts;
  readonly plan: GraphPlan;
  readonly format: Format;
  /** Undefined if nobody reads the events. */
  readonly tell: ((event: Told<any>) => void) | undefined;
  readonly #driver: Driver<GraphEvent, GraphCommand, GraphResult<any>>;
  readonly #boundaries = new Map<string, HeldBoundary>();
  /** The arguments of the current tasks, and of the nodes that they have chosen. */
  readonly #args = new Map<number, Kept>();
  #lastArg = 0;
  readonly #errors = new Map<number, unknown>();
  /** True if the run can store checkpoints. */
  readonly persists: boolean;
  #loaded: Loaded | undefined;
  #state!: Kept;
  #here: HeldBoundary | undefined;
  #saved: string | null = null;
  #hostError: unknown;

  constructor(parts: GraphParts, plan: GraphPlan, tell?: (event: Told<any>) => void, format = formatOf("v8")) {
    this.parts = parts;
    this.plan = plan;
    this.tell = tell;
    this.format = format;
    const { told } = parts.definition;
    const { checkpointer, durability, mode } = plan;
    this.persists = checkpointer !== undefined && told.checkpoint !== "none";
    const prefix = `${Date.now().toString(16).padStart(12, "0")}-${crypto.randomUUID().slice(-12)}`;
    const goto = mode.kind === "continue" ? { goto: this.#targets(plan.goto, "the command") } : {};
    const options = { mode: { ...mode, ...goto }, durability, persist: checkpointer !== undefined, prefix };
    const run: GraphTool = { run: { graph: told, options } };
    this.#driver = new Driver(tinyagents.name, run, (command) => this.#do(command));
  }

  async start(): Promise<GraphResult<any>> {
    const { mode } = this.plan;
    try {
      const kind = mode.kind === "input" ? "invoke" : mode.kind === "continue" ? "resume" : "update";
      this.tell?.({ type: "run.start", ...this.#at(), kind });
      return await this.#driver.start(this.plan);
    } catch (error) {
      this.tell?.({ type: "run.error", ...this.#at(), error });
      throw error;
    }
  }

  #do(told: GraphCommand): void {
    switch (told.command) {
      case "load":
        return void this.#host(() => this.#load(told.id ?? undefined));
      case "enter":
        return void this.#host(() => this.#make(() => this.#enter(), told.routes));
      case "commit":
        return void this.#host(() => this.#make(() => this.#fold(), told.routes));
      case "boundary":
        return this.#reach(told.boundary);
      case "answer":
        return this.#answer(told.tasks);
      case "begin": {
        const tasks = this.#here!.tasks.map(({ name: node, id: taskId }) => ({ node, taskId }));
        return this.tell?.({ type: "superstep.start", ...this.#at(), step: told.step, tasks });
      }
      case "run":
        return void this.#call(told.task, told.attempt);
      case "wait":
        return this.#wait(told.task, told.attempt, told.ms);
      case "put":
        return void this.#write(told.write, () => this.#put(told.id, told.parent));
      case "record": {
        const { tasks } = this.#boundaries.get(told.id)!;
        const held = told.tasks.map((task) => tasks[task]!);
        return void this.#write(told.write, () =>
          recordTasks(this.plan.checkpointer!, this.plan.place, told.id, held, this.plan.lease),
        );
      }
      case "drop":
        return void this.#boundaries.delete(told.id);
      case "cancel":
        return this.#driver.cancel();
      case "finish":
        return this.#end("done", []);
      case "suspend":
        return this.#end("interrupted", told.tasks);
      case "fail":
        return this.#driver.reject(this.#failure(told.why));
    }
  }

  /** Runs work whose failure ends the run. */
  async #host(work: () => Promise<GraphEvent>): Promise<void> {
    let event: GraphEvent;
    try {
      event = await work();
    } catch (error) {
      this.#hostError = error;
      event = { event: "broke" };
    }
    this.#driver.on(event);
  }

  async #load(id: string | undefined): Promise<GraphEvent> {
    const { checkpointer, place, mode } = this.plan;
    const loaded = this.plan.loaded ?? (await loadCheckpoint(checkpointer!, place, id, this.format));
    if (loaded === null) return { event: "loaded", base: null };
    const { checkpoint, activations, latest } = loaded;
    this.#loaded = loaded;
    this.#state = Kept.of(checkpoint.state, this.format, "state");
    const { memorySnapshot } = checkpoint;
    if (mode.kind === "continue" && memorySnapshot !== undefined) await this.parts.memory?.restore?.(memorySnapshot);
    const tasks = activations.map(({ node, task, sendArg, known }) => ({
      node,
      task,
      arg: sendArg && this.#keep(sendArg),
      done: known.result && this.#targets(known.result.goto, `the recorded result of task ${quote(task)}`),
      interrupts: known.question === undefined ? 0 : known.question.index + 1,
      answers: known.answers.length,
    }));
    const { checkpointId, barrierArrivals: arrivals } = checkpoint;
    if (mode.kind !== "input") this.#saved = checkpointId;
    return { event: "loaded", base: { id: checkpointId, step: stepOf(checkpoint), latest, tasks, arrivals } };
  }

  #keep(arg: Kept): number {
    this.#args.set(++this.#lastArg, arg);
    return this.#lastArg;
  }

  #targets(targets: unknown, what: string): Target[] {
    return readTargets(this.parts.definition, targets, what, (arg) =>
      this.#keep(Kept.of(arg, this.format, "the argument of a Send")),
    );
  }

  /** Makes the next state, and evaluates conditional edges on it. */
  async #make(state: () => unknown, sources: Array<number | null>): Promise<GraphEvent> {
    this.#state = Kept.of(state(), this.format, "state");
    const { routes, nodes } = this.parts.definition;
    const chosen: Target[][] = [];
    for (const source of sources) {
      const from = source === null ? "the start" : `node ${quote(nodes[source]!.name)}`;
      const targets: Target[] = [];
      for (const route of routes.get(source)!) {
        targets.push(...this.#targets(await route(this.#state.fresh()), `a conditional edge of ${from}`));
      }
      chosen.push(targets);
    }
    return { event: "made", routes: chosen };
  }

  #enter(): unknown {
    return enter(this.parts, this.plan, this.#loaded === undefined ? null : this.#state.fresh());
  }

  #fold(): unknown {
    let state = this.#here!.state.fresh();
    for (const { known, name, id } of this.#here!.tasks) {
      const update = known.result?.update;
      if (update === undefined) continue;
      try {
        state = fold(this.parts, state, update.fresh());
      } catch (error) {
        throw this.#named(error, name, id);
      }
    }
    return state;
  }

  #reach(boundary: Boundary): void {
    const { nodes } = this.parts.definition;
    const tasks = boundary.tasks.map(({ node, task, arg, from }) => {
      const stored = from === null ? undefined : this.#loaded?.activations[from];
      const held = { node, name: nodes[node]!.name, id: task, storedId: stored?.task ?? task };
      return { ...held, arg: arg === null ? undefined : this.#args.get(arg), known: stored?.known ?? nothing() };
    });
    for (const [index, { done }] of boundary.tasks.entries()) {
      // A pure task runs again, whatever is recorded about it.
      if (!done) tasks[index]!.known = { ...tasks[index]!.known, result: undefined };
    }
    if (boundary.origin === "loop") {
      const needed = new Set(boundary.tasks.map(({ arg }) => arg));
      for (const arg of this.#args.keys()) if (!needed.has(arg)) this.#args.delete(arg);
    }
    const memory = this.persists && boundary.memory !== "live" ? this.#capture(boundary.memory) : undefined;
    this.#here = { boundary, state: this.#state, tasks, atBoundary: tasks.map(({ known }) => known), memory };
    this.#boundaries.set(boundary.id, this.#here);
    if (boundary.origin === null) return;
    const nextNodes = [...new Set(tasks.map(({ name }) => name))];
    const { step, origin: source } = boundary;
    this.tell?.({ type: "state", ...this.#at(), step, source, state: this.#state.fresh(), nextNodes });
  }

  async #capture(consistency: "snapshot" | "journaled"): Promise<MemorySnapshot> {
    const { reads = [], pendingWrites = [] } = (await this.parts.memory?.capture?.()) ?? {};
    return { reads, pendingWrites: consistency === "journaled" ? pendingWrites : [] };
  }

  #answer(tasks: number[]): void {
    for (const index of tasks) {
      const task = this.#here!.tasks[index]!;
      const answer = Kept.of(this.plan.answer!(task), this.format, "the answer");
      const { known } = task;
      // An older checkpoint may be answered again. The new answer then replaces the answer to the last question.
      const earlier = known.answers.slice(0, known.question!.index);
      task.known = { ...known, answers: [...earlier, answer], result: undefined };
    }
  }

  async #call(index: number, attempt: number): Promise<void> {
    const held = this.#here!.tasks[index]!;
    const { node, name, id: taskId } = held;
    if (attempt === 0) this.#tellTask(held, "start");
    let outcome: Outcome;
    try {
      outcome = await this.#outcome(held, attempt);
      if (outcome.kind === "done") {
        const goto = this.#targets(outcome.goto, `the command of node ${quote(name)}`);
        held.known = { ...held.known, result: { update: outcome.update, goto: outcome.goto }, error: undefined };
        this.#tellTask(held, "done", outcome.update && { update: outcome.update.fresh() });
        return this.#driver.on({ event: "ran", task: index, attempt, goto });
      }
    } catch (error) {
      if (this.#driver.over) return;
      held.known = { ...held.known, error: errorOf(error) };
      this.#errors.set(index, this.#named(error, name, taskId));
      if (attempt >= this.parts.definition.told.nodes[node]!.retry.maxRetries) this.#tellTask(held, "error", { error });
      return this.#driver.on({ event: "threw", task: index, attempt });
    }
    if (outcome.kind === "stopped") return this.#driver.on({ event: "stopped", task: index, attempt });
    held.known = { ...held.known, question: outcome.question };
    this.#tellTask(held, "interrupted", { interrupts: outcome.question.asked });
    this.#driver.on({ event: "interrupted", task: index, attempt });
  }

  async #outcome(held: Held, attempt: number): Promise<Outcome> {
    const { options, timeoutMs } = this.parts.definition.nodes[held.node]!;
    const { state, boundary } = this.#here!;
    const { runId, place } = this.plan;
    const common = { ...place, runId, step: boundary.step + 1 };
    return within(timeoutMs, this.#driver, `node ${quote(held.name)}`, async (signal) => {
      const made = makeContext(held, attempt, common, { signal, format: this.format, canAsk: this.persists });
      if ("subgraph" in options && options.subgraph !== undefined)
        return runSubgraph(this, options as Subgraph, held, state.fresh(), made.context);
      return callNode((options as { run: any }).run, state.fresh(), made, this.format);
    });
  }

  #wait(index: number, attempt: number, ms: number): void {
    this.#tellTask(this.#here!.tasks[index]!, "retry", { attempt, delayMs: ms, error: this.#errors.get(index) });
    this.#driver.wait(ms, { event: "waited", task: index, attempt: attempt + 1 });
  }

  async #write(write: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#hostError ??= error;
      return this.#driver.on({ event: "writeFailed", write });
    }
    this.#driver.on({ event: "written", write });
  }

  async #put(id: string, parent: string | null): Promise<void> {
    const { checkpointer, place, runId, lease } = this.plan;
    const held = this.#boundaries.get(id)!;
    // An asynchronous put may begin when the tasks of its superstep have ended. Their results are recorded beside it.
    const tasks =
      this.plan.durability === "async"
        ? held.tasks.map((task, at) => ({ ...task, known: held.atBoundary[at]! }))
        : held.tasks;
    const more = { runId, graph: this.parts.definition.name, createdAt: Date.now() };
    // The parent is not the latest checkpoint if the run continues from an older one.
    const branches = this.#loaded?.latest === false && parent === this.#loaded.checkpoint.checkpointId;
    await putBoundary(checkpointer!, place, { ...held, tasks }, parent, { ...more, branches, lease });
    this.#saved = id;
    const { step, origin: source } = held.boundary;
    this.tell?.({ type: "checkpoint.saved", ...this.#at(), checkpointId: id, step, source: source ?? "loop" });
  }

  #end(status: "done" | "interrupted", tasks: number[]): void {
    const held = this.#here!;
    const asked = tasks.map((task) => held.tasks[task]!.known).filter(isWaiting);
    const result: GraphResult<any> = {
      status,
      ...this.#at(),
      state: this.#state.fresh(),
      interrupts: asked.flatMap(({ question }) => question!.asked),
      checkpointId: this.#saved,
      step: held.boundary.step,
    };
    this.tell?.({ type: status === "done" ? "run.complete" : "run.interrupted", ...this.#at(), result });
    this.#driver.resolve(result);
  }

  #failure(why: GraphWhy): unknown {
    const { threadId } = this.plan.place;
    switch (why.reason) {
      case "notFound":
        return new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} has no such checkpoint`);
      case "mismatch":
        return new ForkpointError("CONFLICT", why.message);
      case "limit":
        return tooLong(why.supersteps);
      case "drained":
        return new RunDrainedError(this.plan.runId);
      case "aborted":
        return this.plan.signal!.reason;
      case "task":
        return this.#errors.get(why.task);
      default:
        return this.#hostError;
    }
  }

  /** Makes the run of a subgraph of this graph. */
  inside(parts: GraphParts, plan: GraphPlan): GraphExecution {
    return new GraphExecution(parts, plan, this.tell, this.format);
  }

  /** Returns the tasks that wait for an answer. */
  waiting(): Held[] {
    return this.#here?.tasks.filter(({ known }) => isWaiting(known)) ?? [];
  }

  /** Adds the node and the task to an error. */
  #named(error: unknown, node: string, taskId: string): Error {
    const place = { node, taskId, ...this.#at() };
    const caused = error instanceof Error && error.cause === undefined ? { cause: place } : {};
    return carrying(error, { ...place, ...caused });
  }

  #at() {
    const { runId, place } = this.plan;
    return { runId, ...place };
  }

  #tellTask({ name: node, id: taskId }: Held, status: string, more: object = {}): void {
    this.tell?.({ type: "task", ...this.#at(), node, taskId, status, ...more } as Told<any>);
  }
}
