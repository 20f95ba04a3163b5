/**
 * Runs a graph. The engine's state machine (`engine/src/contract/tinyagents/graph`) decides the next action and sends
 * commands. This file executes them with the user's functions and the checkpointer, and reports each outcome.
 */

import { RunDrainedError } from "../../shared/drain.js";
import { Driver } from "../../shared/driver.js";
import { ForkpointError, quote } from "../../../bridge/errors.js";
import { carrying } from "../../shared/failure.js";
import { type Format, formatOf } from "../../../bridge/serializer.js";
import { handleOf } from "../../../store/handle-of.js";
import { type RunEffects, onceOf } from "../../shared/once.js";
import { within } from "../../shared/time-limit.js";
import { readTargets } from "./definition.js";
import { type GraphParts, type GraphPlan, enter, settled } from "./plan.js";
import {
  keyOf,
  type BoundaryTask,
  type ReachedBoundary,
  type Loaded,
  incarnationOf,
  loadCheckpoint,
  putBoundary,
  ranIn,
  recordTasks,
  stepOf,
} from "./recorder.js";
import { describe, requireFit, requireOwn } from "./fit.js";
import { runSubgraph } from "./subgraph.js";
import { type Outcome, callNode, makeContext } from "./task.js";
import { questionIn, refuseOther } from "./answers.js";
import { errorOf, isWaiting, nothing, withoutAnswer } from "./tasks.js";
import { SEND, Snapshot } from "./values.js";
import type { Boundary, GraphCommand, GraphEvent, GraphTool, GraphWhy, Target } from "./wire.js";
import { tinyagents } from "../wire.js";
import type { GraphEvent as EmittedEvent, GraphResult } from "./events.js";
import type { MemorySnapshot, Subgraph } from "./node.js";

export class GraphExecution {
  readonly parts: GraphParts;
  readonly plan: GraphPlan;
  readonly format: Format;
  readonly emit: ((event: EmittedEvent<any>) => void) | undefined;
  readonly #driver: Driver<GraphEvent, GraphCommand, GraphResult<any>>;
  readonly #boundaries = new Map<string, ReachedBoundary>();
  /** The arguments of the current tasks and of their chosen nodes. */
  readonly #args = new Map<number, Snapshot>();
  #lastArg = 0;
  readonly #errors = new Map<number, unknown>();
  readonly persists: boolean;
  /** The effects of the thread. A subgraph shares those of its outer graph. */
  readonly effects: RunEffects;
  #loaded: Loaded | undefined;
  #state!: Snapshot;
  #current: ReachedBoundary | undefined;
  #saved: string | null = null;
  /** The first save of the run. */
  #storing: Promise<void> | undefined;
  /** The names of the nodes that have run since the latest input. */
  #ran: readonly string[] = [];
  #hostError: unknown;
  /** The last record of answers. Resolves to false if it was not stored. */
  #answering: Promise<boolean> | undefined;
  /** The tasks of the loaded checkpoint with answers that are stored at the end of the run. */
  #untold: { id: string; tasks: BoundaryTask[] } | undefined;

  constructor(parts: GraphParts, plan: GraphPlan, emit?: (event: EmittedEvent<any>) => void, format = formatOf("v8")) {
    this.parts = parts;
    this.plan = plan;
    this.emit = emit;
    this.format = format;
    const { description } = parts.definition;
    const { checkpointer, durability, mode } = plan;
    this.persists = checkpointer !== undefined && description.checkpoint !== "none";
    this.effects = plan.effects ?? {
      handle: checkpointer && (handleOf(checkpointer) ?? null),
      store: "Checkpointer",
      place: () => {
        const { boundary } = this.#current!;
        const last = this.#saved ?? this.#loaded?.checkpoint.checkpointId;
        const begun = incarnationOf(this.effects.handle, plan.thread, last);
        const ready = last === undefined && this.#storing ? { ready: this.#storing } : {};
        const at = {
          of: keyOf(plan.thread),
          at: boundary.id,
          stored: last !== undefined,
          ...begun,
          ...ready,
        };
        if (this.#loaded?.latest !== false) return { ...at, joins: "run" };
        // A boundary without an origin is the named checkpoint itself.
        return { ...at, from: this.#saved ?? undefined, ...(boundary.origin !== null && { joins: "checkpoint" }) };
      },
      lease: () => plan.lease,
    };
    const prefix = `${Date.now().toString(16).padStart(12, "0")}-${crypto.randomUUID().slice(-12)}`;
    const goto = mode.kind === "continue" ? { goto: this.#targets(plan.goto, "the command") } : {};
    const options = { mode: { ...mode, ...goto }, durability, persist: checkpointer !== undefined, prefix };
    const run: GraphTool = { run: { graph: description, options } };
    this.#driver = new Driver(tinyagents.name, run, (command) => this.#do(command));
  }

  async start(): Promise<GraphResult<any>> {
    const { mode } = this.plan;
    try {
      const kind = mode.kind === "input" ? "invoke" : mode.kind === "continue" ? "resume" : "update";
      this.emit?.({ type: "run.start", ...this.#at(), kind });
      return await this.#driver.start(this.plan);
    } catch (error) {
      this.emit?.({ type: "run.error", ...this.#at(), error });
      throw error;
    }
  }

  #do(order: GraphCommand): void {
    switch (order.command) {
      case "load":
        return void this.#host(() => this.#load(order.id ?? undefined));
      case "enter":
        return void this.#host(() => this.#make(() => this.#enter(), order.routes));
      case "commit":
        return void this.#host(() => this.#make(() => this.#fold(), order.routes));
      case "boundary":
        return this.#reach(order.boundary);
      case "answer":
        return this.#answer(order.tasks);
      case "begin": {
        const tasks = this.#current!.tasks.map(({ name: node, id: taskId }) => ({ node, taskId }));
        return this.emit?.({ type: "superstep.start", ...this.#at(), step: order.step, tasks });
      }
      case "run":
        return void this.#call(order.task, order.attempt);
      case "wait":
        return this.#wait(order.task, order.attempt, order.ms);
      case "put":
        return void this.#write(order.write, async () => {
          if (this.#untold !== undefined) await this.#tell();
          await this.#put(order.id, order.parent);
        });
      case "record": {
        const { tasks } = this.#boundaries.get(order.id)!;
        const recorded = order.tasks.map((index) => ({ ...tasks[index]! }));
        for (const index of order.tasks) tasks[index]!.record = { ...tasks[index]!.record, given: undefined };
        const recording = this.#write(order.write, () =>
          recordTasks(this.plan.checkpointer!, this.plan.thread, order.id, recorded, this.plan.lease),
        );
        if (recorded.some(({ record }) => record.given !== undefined)) this.#answering = recording;
        this.#untold = undefined;
        return;
      }
      case "drop":
        return void this.#boundaries.delete(order.id);
      case "cancel":
        return this.#driver.cancel();
      case "finish":
        return this.#end("done", []);
      case "suspend":
        return this.#end("interrupted", order.tasks);
      case "fail":
        return this.#driver.reject(this.#failure(order.why));
    }
  }

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
    const { checkpointer, thread, mode } = this.plan;
    const loaded = this.plan.loaded ?? (await loadCheckpoint(checkpointer!, thread, id, this.format));
    if (loaded === null) return { event: "loaded", base: undefined };
    const { checkpoint, activations, latest } = loaded;
    requireOwn(this.plan, this.parts.definition.name, loaded);
    if (mode.kind === "continue") this.#refuseOthers(loaded);
    if (mode.kind === "continue") await requireFit(this.plan, this.parts.definition.name, loaded, this.format);
    if (mode.kind !== "input") this.#ran = ranIn(checkpoint);
    this.#loaded = loaded;
    this.#state = Snapshot.of(checkpoint.state, this.format, "state");
    const { memorySnapshot } = checkpoint;
    if (mode.kind === "continue" && memorySnapshot !== undefined) await this.parts.memory?.restore?.(memorySnapshot);
    const tasks = activations.map(({ node, task, sendArg, record }) => ({
      node,
      task,
      arg: sendArg && this.#keep(sendArg),
      done: record.result && this.#targets(record.result.goto, `the recorded result of task ${quote(task)}`),
      interrupts: record.question === undefined ? 0 : record.question.index + 1,
      answers: record.answers.length,
    }));
    const { checkpointId, barrierArrivals: arrivals } = checkpoint;
    if (mode.kind !== "input") this.#saved = checkpointId;
    return { event: "loaded", base: { id: checkpointId, step: stepOf(checkpoint), latest, tasks, arrivals } };
  }

  #keep(arg: Snapshot): number {
    this.#args.set(++this.#lastArg, arg);
    return this.#lastArg;
  }

  #targets(targets: unknown, what: string): Target[] {
    return readTargets(this.parts.definition, targets, what, (arg) =>
      this.#keep(arg instanceof Snapshot ? arg : Snapshot.of(arg, this.format, SEND)),
    );
  }

  /** Makes the next state, and evaluates conditional edges on it. */
  async #make(state: () => unknown, sources: Array<number | null>): Promise<GraphEvent> {
    const made = state();
    this.#state = made instanceof Snapshot ? made : Snapshot.of(made, this.format, "state");
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
    let state = this.#current!.state.fresh();
    for (const { record, name, id } of this.#current!.tasks) {
      const update = record.result?.update;
      if (update === undefined) continue;
      try {
        state = settled(this.parts.reducer(state, update.fresh()), "reducer");
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
      const identity = { node, name: nodes[node]!.name, id: task, storedId: stored?.task ?? task };
      return { ...identity, arg: arg === null ? undefined : this.#args.get(arg), record: stored?.record ?? nothing() };
    });
    for (const [index, { done }] of boundary.tasks.entries()) {
      // Drop the recorded result of a task that runs again, such as a pure task.
      if (!done) tasks[index]!.record = { ...tasks[index]!.record, result: undefined };
      // The state was changed after the answer, so the task asks again.
      if (this.plan.mode.kind === "update") tasks[index]!.record = withoutAnswer(tasks[index]!.record);
    }
    if (boundary.origin === "loop") {
      const needed = new Set(boundary.tasks.map(({ arg }) => arg));
      for (const arg of this.#args.keys()) if (!needed.has(arg)) this.#args.delete(arg);
    }
    const memory = this.persists && boundary.memory !== "live" ? this.#capture(boundary.memory) : undefined;
    // A boundary that is never stored does not need its memory.
    memory?.catch(() => {});
    const made = boundary.origin === "loop" ? this.#current!.tasks.map(({ name }) => name) : [];
    const ran = this.#ranAt(boundary);
    const atBoundary = tasks.map(({ record }) => record);
    this.#current = { boundary, state: this.#state, tasks, atBoundary, memory, made, ran };
    this.#boundaries.set(boundary.id, this.#current);
    if (boundary.origin === null) return;
    const nextNodes = [...new Set(tasks.map(({ name }) => name))];
    const { step, origin: source } = boundary;
    this.emit?.({ type: "state", ...this.#at(), step, source, state: this.#state.fresh(), nextNodes });
  }

  /** Returns the nodes that have run at a boundary. An update as a node counts as a run of the node. */
  #ranAt({ origin }: Boundary): readonly string[] {
    const { mode } = this.plan;
    const asNode = mode.kind === "update" && mode.asNode !== undefined ? [mode.asNode] : [];
    const now = origin === "loop" ? this.#current!.tasks.map(({ node }) => node) : asNode;
    const { nodes } = this.parts.definition;
    if (now.length > 0) this.#ran = [...new Set([...this.#ran, ...now.map((node) => nodes[node]!.name)])];
    return this.#ran;
  }

  /** Keeps the memory at once, because the next nodes may change it before the boundary is stored. */
  async #capture(consistency: "snapshot" | "journaled"): Promise<Snapshot> {
    const keep = ({ reads = [], pendingWrites = [] }: Partial<MemorySnapshot>) => {
      const captured = { reads, pendingWrites: consistency === "journaled" ? pendingWrites : [] };
      return Snapshot.of(captured, this.format, "memory");
    };
    const captured = this.parts.memory?.capture?.() ?? {};
    return keep("then" in captured ? ((await captured) ?? {}) : captured);
  }

  #answer(tasks: number[]): void {
    for (const index of tasks) {
      const task = this.#current!.tasks[index]!;
      const answer = this.plan.answer!(task);
      const { record } = task;
      // If the run continues from an older checkpoint, the last question may already have an answer. The new one
      // replaces it.
      const nth = record.question!.index;
      const earlier = record.answers.slice(0, nth);
      const value: unknown = answer.fresh();
      const question = questionIn(record.question!);
      const given = { id: task.id, node: task.name, nth, question, value, by: null, at: Date.now(), program: true };
      const told = this.#recordsAnswers ? { given } : {};
      task.record = { ...record, answers: [...earlier, answer], result: undefined, ...told };
    }
    const { boundary, tasks: all } = this.#current!;
    if (this.plan.durability !== "exit" || !this.#recordsAnswers || boundary.origin !== null) return;
    if (this.#loaded?.latest !== false) this.#untold = { id: boundary.id, tasks: tasks.map((at) => ({ ...all[at]! })) };
  }

  /** With the durability "exit", stores the answers before the last checkpoint, which is refused with them. */
  async #tell(): Promise<void> {
    const told = this.#untold;
    this.#untold = undefined;
    const { checkpointer, thread, lease } = this.plan;
    if (told !== undefined) await recordTasks(checkpointer!, thread, told.id, told.tasks, lease);
  }

  /** True for a checkpointer of this package. A subgraph gets the answers of its calling task. */
  get #recordsAnswers(): boolean {
    const { checkpointer, effects } = this.plan;
    return effects === undefined && checkpointer !== undefined && handleOf(checkpointer) !== undefined;
  }

  /** Refuses an answer to a question with a different unused answer. */
  #refuseOthers({ activations, answers, latest }: Loaded): void {
    const { mode, answer, thread } = this.plan;
    if (!latest || mode.kind !== "continue" || mode.answers === "none" || !this.#recordsAnswers) return;
    const named = mode.answers === "all" ? undefined : new Set(mode.answers.tasks);
    for (const { node: name, task: storedId, record } of activations) {
      const stored = answers.find(({ id, nth }) => id === storedId && nth === record.question?.index);
      if (stored === undefined || record.result !== undefined) continue;
      if (named === undefined || named.has(name) || named.has(storedId))
        refuseOther(thread.threadId, stored, answer!({ name, storedId } as BoundaryTask).fresh());
    }
  }

  async #call(index: number, attempt: number): Promise<void> {
    const task = this.#current!.tasks[index]!;
    const { node, name, id: taskId } = task;
    if (attempt === 0) this.#emitTask(task, "start");
    let outcome: Outcome;
    try {
      outcome = await this.#outcome(task, attempt);
      if (outcome.kind === "done") {
        const goto = this.#targets(outcome.goto, `the command of node ${quote(name)}`);
        task.record = { ...task.record, result: { update: outcome.update, goto: outcome.goto }, error: undefined };
        this.#emitTask(task, "done", outcome.update && { update: outcome.update.fresh() });
        return this.#driver.on({ event: "ran", task: index, attempt, goto });
      }
    } catch (error) {
      if (this.#driver.over) return;
      task.record = { ...task.record, error: errorOf(error) };
      this.#errors.set(index, this.#named(error, name, taskId));
      if (attempt >= this.parts.definition.description.nodes[node]!.retry.maxRetries)
        this.#emitTask(task, "error", { error });
      return this.#driver.on({ event: "threw", task: index, attempt });
    }
    if (outcome.kind === "stopped") return this.#driver.on({ event: "stopped", task: index, attempt });
    task.record = { ...task.record, question: outcome.question };
    this.#emitTask(task, "interrupted", { interrupts: outcome.question.asked });
    this.#driver.on({ event: "interrupted", task: index, attempt });
  }

  async #outcome(task: BoundaryTask, attempt: number): Promise<Outcome> {
    const { options, timeoutMs } = this.parts.definition.nodes[task.node]!;
    const { state, boundary } = this.#current!;
    const { runId, thread } = this.plan;
    const common = { ...thread, runId, step: boundary.step + 1 };
    return within(timeoutMs, this.#driver, `node ${quote(task.name)}`, async (signal) => {
      const effectClass = options.effectClass === "external" ? "external" : "write";
      const once = onceOf(this.effects, { signal, effectClass });
      const made = makeContext(task, attempt, common, { signal, format: this.format, canAsk: this.persists, once });
      if ("subgraph" in options && options.subgraph !== undefined)
        return runSubgraph(this, options as Subgraph, task, state.fresh(), made.context);
      return callNode((options as { run: any }).run, state.fresh(), made, this.format);
    });
  }

  #wait(index: number, attempt: number, ms: number): void {
    this.#emitTask(this.#current!.tasks[index]!, "retry", { attempt, delayMs: ms, error: this.#errors.get(index) });
    this.#driver.wait(ms, { event: "waited", task: index, attempt: attempt + 1 });
  }

  /** Returns false if the write fails. */
  async #write(write: number, work: () => Promise<void>): Promise<boolean> {
    // With the durability "async", later writes of a run whose answer is refused may have been begun before the refusal.
    const isRefused = this.#answering !== undefined && !(await this.#answering);
    try {
      if (isRefused) throw this.#hostError;
      await work();
    } catch (error) {
      this.#hostError ??= error;
      this.#driver.on({ event: "writeFailed", write });
      return false;
    }
    this.#driver.on({ event: "written", write });
    return true;
  }

  async #put(id: string, parent: string | null): Promise<void> {
    const stored = this.#store(id, parent);
    // With the durability "async", the tasks do not wait for this save.
    this.#storing ??= stored;
    await stored;
    this.#saved = id;
    const { step, origin: source } = this.#boundaries.get(id)!.boundary;
    this.emit?.({ type: "checkpoint.saved", ...this.#at(), checkpointId: id, step, source: source ?? "loop" });
  }

  async #store(id: string, parent: string | null): Promise<void> {
    const { checkpointer, thread, runId, lease } = this.plan;
    const reached = this.#boundaries.get(id)!;
    // An asynchronous put may begin after later tasks have ended. Store the tasks as they were at the boundary. Their
    // results become pending writes.
    const tasks =
      this.plan.durability === "async"
        ? reached.tasks.map((task, at) => ({ ...task, record: reached.atBoundary[at]! }))
        : reached.tasks;
    const made = await describe(this.plan, this.#loaded);
    const more = { runId, graph: this.parts.definition.name, createdAt: Date.now(), ...made };
    // The parent is not the latest checkpoint if the run continues from an older one.
    const branches = this.#loaded?.latest === false && parent === this.#loaded.checkpoint.checkpointId;
    await putBoundary(checkpointer!, thread, { ...reached, tasks }, parent, { ...more, branches, lease });
  }

  #end(status: "done" | "interrupted", tasks: number[]): void {
    const reached = this.#current!;
    const asked = tasks.map((task) => reached.tasks[task]!.record).filter(isWaiting);
    const result: GraphResult<any> = {
      status,
      ...this.#at(),
      state: this.#state.fresh(),
      interrupts: asked.flatMap(({ question }) => question!.asked),
      checkpointId: this.#saved,
      step: reached.boundary.step,
    };
    this.emit?.({ type: status === "done" ? "run.complete" : "run.interrupted", ...this.#at(), result });
    this.#driver.resolve(result);
  }

  #failure(why: GraphWhy): unknown {
    const { threadId } = this.plan.thread;
    switch (why.reason) {
      case "notFound":
        return new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} has no such checkpoint`);
      case "mismatch":
        return new ForkpointError("CONFLICT", why.message);
      case "limit":
        return new ForkpointError(
          "INVALID_ARGUMENT",
          `the graph has not ended after ${why.supersteps} supersteps: raise maxSupersteps, or look for an infinite loop`,
        );
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

  inside(parts: GraphParts, plan: GraphPlan): GraphExecution {
    return new GraphExecution(parts, plan, this.emit, this.format);
  }

  waiting(): BoundaryTask[] {
    return this.#current?.tasks.filter(({ record }) => isWaiting(record)) ?? [];
  }

  #named(error: unknown, node: string, taskId: string): Error {
    const where = { node, taskId, ...this.#at() };
    const caused = error instanceof Error && error.cause === undefined ? { cause: where } : {};
    return carrying(error, { ...where, ...caused });
  }

  #at() {
    const { runId, thread } = this.plan;
    return { runId, ...thread };
  }

  #emitTask({ name: node, id: taskId }: BoundaryTask, status: string, more: object = {}): void {
    this.emit?.({ type: "task", ...this.#at(), node, taskId, status, ...more } as EmittedEvent<any>);
  }
}
