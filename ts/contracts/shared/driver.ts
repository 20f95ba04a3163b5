/**
 * Drives a state machine of the engine: sends it events, and lets the host execute the commands that the machine
 * returns. Also handles what all runs have in common: waits, aborts, drains, and the end of the run.
 */

import { type DrainController, onDrain } from "./drain.js";
import { Tool } from "../../bridge/native.js";
import { parse } from "../../bridge/wire.js";

interface Stops {
  signal?: AbortSignal;
  drain?: Pick<DrainController, "drained" | "waitForDrain">;
}

/** The events that all runs have. */
type Common = { event: "started" | "drainRequested" | "aborted" };

export class Driver<Event extends { event: string }, Command, Result> {
  readonly #tool: Tool<object, Event | Common>;
  readonly #execute: (command: Command) => void;
  readonly #cancelled = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Called when the run ends. */
  readonly #releases: Array<() => void> = [];
  #signal: AbortSignal | undefined;
  readonly #ended = new AbortController();
  #draining = false;
  #settle!: { resolve: (result: Result) => void; reject: (error: unknown) => void };
  /** The end of the run, once it has been started. */
  result!: Promise<Result>;

  /** `machine` describes the state machine to the engine. */
  constructor(contract: string, machine: object, execute: (command: Command) => void) {
    this.#tool = new Tool(contract, machine);
    this.#execute = execute;
  }

  /** Aborts when the user's functions must stop. */
  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Aborts when the run has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get over(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Starts the run. `before` is called first, unless the signal is already aborted. */
  start({ signal, drain }: Stops, before?: () => void): Promise<Result> {
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#signal = signal;
    if (drain !== undefined) this.#listenToDrain(drain);
    if (signal !== undefined) this.#listenToAbort(signal);
    if (!this.over) {
      before?.();
      this.on({ event: "started" });
    }
    return this.result;
  }

  on(event: Event | Common): void {
    if (this.over) return;
    try {
      for (const command of parse(this.#tool.call(event)) as Command[]) this.#execute(command);
    } catch (error) {
      // Commands should not throw. If a command throws, the run's promise must still reject.
      this.#cancelled.abort();
      this.reject(error);
    }
  }

  /** Sends the event to the state machine after `ms` milliseconds, unless the run is cancelled first. */
  wait(ms: number, event: Event): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.on(event);
    }, ms);
    this.#timers.add(timer);
  }

  /** Ends all waits, and aborts the signal of the user's functions. */
  cancel(): void {
    this.#endWaits();
    this.#cancelled.abort(this.#signal?.aborted ? this.#signal.reason : undefined);
  }

  #end(): void {
    this.#ended.abort();
    this.#endWaits();
    for (const release of this.#releases.splice(0)) release();
  }

  resolve(result: Result): void {
    this.#end();
    this.#settle.resolve(result);
  }

  reject(error: unknown): void {
    this.#end();
    this.#settle.reject(error);
  }

  #endWaits(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #listenToDrain(drain: NonNullable<Stops["drain"]>): void {
    const requested = () => {
      this.#draining = true;
      this.on({ event: "drainRequested" });
    };
    if (drain.drained) requested();
    else this.#releases.push(onDrain(drain, requested));
  }

  #listenToAbort(signal: AbortSignal): void {
    const abort = () => this.on({ event: "aborted" });
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#releases.push(() => signal.removeEventListener("abort", abort));
  }
}
