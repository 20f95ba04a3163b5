/** `ForkpointRunStates`, the saved states of runs of the OpenAI Agents SDK. */

import { crypto } from "../../bridge/crypto.js";
import { whole as wholeBytes } from "../../bridge/bytes.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import type { TakenBy } from "../../bridge/forkpoint-error.js";
import { type Format, type Serialized, deserializeValue, isCustom } from "../../bridge/serializer.js";
import { RunStore } from "../../store/contract-store.js";
import { tokenAfter } from "../../store/effect-attempt.js";
import { type EffectEntry, type StoredEffect, effectCalls } from "../../store/effect-wire.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import { thisProcess } from "../../bridge/holder.js";
import { nonEmpty, text as textArgument } from "../../store/ids.js";
import type { Lease } from "../../store/lease.js";
import { type StoreOptions, flag, readRecord, splitOptions, whole } from "../../store/options.js";
import { type DeleteOptions, forced, removing } from "../../store/removing.js";
import type { Store } from "../../store/store.js";
import { batches } from "../../store/page.js";
import { Turns } from "../shared/turns.js";
import { type Taken, stateCalls } from "./wire.js";

export interface ForkpointRunStatesOptions extends StoreOptions {
  /**
   * How long a taken state stays taken, in ms. Then it can be taken again. Default: until it is saved, released or
   * taken with `force`, because it is unknown whether an ended process has run the tool.
   */
  takenMs?: number;
}

/** The state of a run. */
export interface SavedRunState {
  runId: string;
  /** The result of `result.state.toString()`. */
  text: string;
  sessionId?: string;
  /** Who has taken the state. Missing: it is not taken. */
  taken?: TakenBy;
}

const ownOptions = { takenMs: whole(1, Number.MAX_SAFE_INTEGER, "milliseconds") };
const saveOptions = { sessionId: nonEmpty };
const takeOptions = { sessionId: nonEmpty, force: flag };
const listOptions = { sessionId: nonEmpty, limit: whole(0, Number.MAX_SAFE_INTEGER, "runs") };
/** The newest state of a run. */
interface Found {
  id: string;
  state: SavedRunState;
  now: number;
  /** The record that the state was taken. */
  effect: StoredEffect | undefined;
}

/** A state that this store has taken. */
interface Mine {
  id: string;
  token: number;
  entry: EffectEntry;
  session: string | undefined;
}

/**
 * The states of runs that wait for a human, in a database. Only one caller can take a state, so that no tool runs
 * twice.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply, and a TypeError for a wrong
 * argument.
 *
 * @example
 * ```ts
 * const states = new ForkpointRunStates("agent.db");
 * const { text } = await states.take("order-7");
 * const state = await RunState.fromString(agent, text);
 * ```
 */
export class ForkpointRunStates extends RunStore {
  readonly #handle: StoreHandle;
  readonly #takenMs: number | undefined;
  #turns = new Turns();
  #mine = new Map<string, Mine>();

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `takenMs`, and the options of `openStore`. An open store takes only `takenMs`.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: ForkpointRunStatesOptions) {
    const { own, others } = splitOptions(options, ownOptions);
    const handle = StoreHandle.of(target, others, stateCalls);
    super(handle);
    this.#handle = handle;
    this.#takenMs = own.takenMs;
  }

  /**
   * Saves the state of a run, which can then be taken. Earlier states stay, and can be inspected.
   *
   * `sessionId` is the id of the run's session. Default: the one saved before.
   * @throws ForkpointError `CONFLICT` if another store has taken the run from this one since. Nothing was saved then.
   * @example await states.save("order-7", result.state.toString(), { sessionId: "user-7" });
   */
  save(runId: string, text: string, options?: { sessionId?: string }): Promise<void> {
    return this.#handle.save(async (engine) => {
      const [run, part] = [nonEmpty(runId, "runId"), partOf(textArgument(text, "text"), engine.format)];
      const { sessionId } = readRecord(options, "options", saveOptions);
      await this.#turns.alone(run, async () => {
        const mine = this.#mine.get(run);
        const session = sessionId ?? mine?.session ?? (mine ? undefined : (await find(engine, run))?.state.sessionId);
        await this.#save(engine, run, part, session);
      });
    });
  }

  /**
   * Releases a taken run after a failure, with the state after the failure. It can then be taken again.
   * @throws ForkpointError `CONFLICT` if this store has not taken the run, or another one has taken it since.
   * @example await states.release("order-7", state.toString());
   */
  release(runId: string, text: string): Promise<void> {
    return this.#handle.save(async (engine) => {
      const [run, part] = [nonEmpty(runId, "runId"), partOf(textArgument(text, "text"), engine.format)];
      await this.#turns.alone(run, async () => {
        const mine = this.#mine.get(run);
        if (mine !== undefined) return this.#save(engine, run, part, mine.session);
        throw new ForkpointError("CONFLICT", `run ${quote(run)} was not taken with this store: save it instead`);
      });
    });
  }

  async #save(engine: Engine, run: string, part: Part, session: string | undefined): Promise<void> {
    const { name, tag, bytes, status } = part;
    const fields = { run, id: crypto().randomUUID(), meta: { session }, status, part: { name, tag } };
    const savedAt = Date.now();
    await this.#ending(engine, run, (taken) =>
      stateCalls.call(engine.native, "save", { ...fields, savedAt, taken }, [bytes]),
    );
  }

  /** Runs a write that ends a taking of this store. */
  async #ending(engine: Engine, run: string, write: (taken: Taken | undefined) => Promise<unknown>): Promise<void> {
    const mine = this.#mine.get(run);
    const endedAt = Date.now();
    const taken = mine && {
      effect: addressOf(run, mine.id),
      token: mine.token,
      entry: { ...mine.entry, state: "done" as const, endedAt },
      result: undefined,
      savedAt: endedAt,
    };
    try {
      await write(taken);
    } catch (error) {
      if (mine === undefined || !isOvertaken(error)) throw error;
      const found = await find(engine, run);
      const by = found?.effect && takenBy(found.effect);
      throw takenError(run, by, "after this store had taken it: drop this state");
    }
    this.#mine.delete(run);
  }

  /**
   * Returns the last saved state, or null if there is none.
   * @example const saved = await states.load("order-7");
   */
  load(runId: string): Promise<SavedRunState | null> {
    return this.#handle.run(async (engine) => {
      const run = nonEmpty(runId, "runId");
      const found = await this.#turns.shared(run, () => find(engine, run));
      return found && this.#shown(found);
    });
  }

  /**
   * Lists the saved states, the last saved first. `sessionId` selects those of a session.
   * @example for (const { runId, taken } of await states.list({ sessionId: "user-7" })) console.log(runId, taken);
   */
  list(options?: { sessionId?: string; limit?: number }): Promise<SavedRunState[]> {
    return this.#handle.run(async (engine) => {
      const { sessionId, limit = Number.POSITIVE_INFINITY } = readRecord(options, "options", listOptions);
      await this.#turns.settled();
      const states: SavedRunState[] = [];
      const read = (before: number | undefined, most: number) =>
        stateCalls.call(engine.native, "runs", { before, limit: most });
      for await (const runs of batches(read)) {
        for (const { run, session } of runs) {
          if (states.length >= limit) return states;
          if (sessionId !== undefined && session !== sessionId) continue;
          const found = await find(engine, run);
          if (found !== null) states.push(this.#shown(found));
        }
      }
      return states;
    });
  }

  /**
   * Returns the last saved state, and marks it as taken, in one transaction. Then resume the run, and `save`, `release`
   * or `delete` it.
   *
   * With `force`, takes a state that is already taken. Its tool may have run.
   * @throws ForkpointError `NOT_FOUND` for an unknown run, `CONFLICT` if the state is taken (`error.taken` has the
   *   taker and the time), `INVALID_ARGUMENT` if `sessionId` differs from the saved one. Nothing was taken then.
   * @example const { text } = await states.take("order-7", { sessionId: "user-7" });
   */
  take(runId: string, options?: { sessionId?: string; force?: boolean }): Promise<SavedRunState> {
    return this.#handle.run(async (engine) => {
      const run = nonEmpty(runId, "runId");
      const { sessionId, force = false } = readRecord(options, "options", takeOptions);
      return this.#turns.alone(run, async () => {
        for (;;) {
          const found = await find(engine, run);
          if (found === null) {
            throw new ForkpointError("NOT_FOUND", `run ${quote(run)} has no saved state: list the states`);
          }
          const { taken } = this.#shown(found);
          if (sessionId !== undefined) requireSession(run, found.state.sessionId, sessionId);
          if (taken !== undefined && !force) throw takenError(run, taken, "pass force: true if its tool has not run");
          const mine = await this.#begin(engine, run, found);
          if (mine === undefined) continue;
          this.#mine.set(run, mine);
          return { ...found.state, taken: takenBy(mine.entry) };
        }
      });
    });
  }

  /** Marks a state as taken. Undefined: another process was faster. */
  async #begin({ native }: Engine, run: string, { id, now, effect, state }: Found): Promise<Mine | undefined> {
    const token = tokenAfter(effect?.token, now);
    const entry: EffectEntry = {
      state: "running",
      idempotencyKey: effect?.idempotencyKey ?? crypto().randomUUID(),
      attempts: (effect?.attempts ?? 0) + 1,
      holder: thisProcess(),
      until: this.#takenMs === undefined ? Number.MAX_SAFE_INTEGER : now + this.#takenMs,
      base: id,
      from: null,
      newest: id,
      startedAt: now,
      endedAt: null,
      error: null,
    };
    const seen = effect && { token: effect.token, savedAt: effect.savedAt };
    const fields = { effect: addressOf(run, id), seen, token, entry, result: undefined, savedAt: now, newest: id };
    try {
      await effectCalls.call(native, "begin", fields);
      return { id, token, entry, session: state.sessionId };
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      return undefined;
    }
  }

  /**
   * Removes the states of a run. An unknown run causes no error.
   * @throws ForkpointError `CONFLICT` if this store had taken the run and another one has taken it since, or if a
   *   process holds the lease of the run, unless `force` is true.
   * @example await states.delete("order-7");
   */
  delete(runId: string, options?: DeleteOptions): Promise<void> {
    return this.#handle.run((engine) => {
      const [run, force] = [nonEmpty(runId, "runId"), forced(options)];
      const owned = removing(engine.native, { space: stateCalls.name, run, ns: "" }, force);
      return this.#turns.alone(run, () =>
        this.#ending(engine, run, (taken) => stateCalls.call(owned, "remove", { run, taken })),
      );
    });
  }

  withLease(lease: Lease): ForkpointRunStates {
    const options = this.#takenMs === undefined ? {} : { takenMs: this.#takenMs };
    const view = new ForkpointRunStates(this.#handle.withLease(lease).asStore, options);
    [view.#turns, view.#mine] = [this.#turns, this.#mine];
    return view;
  }

  #shown({ state, effect, now }: Found): SavedRunState {
    const isOver = effect !== undefined && this.#takenMs !== undefined && now - effect.startedAt >= this.#takenMs;
    return effect === undefined || isOver ? state : { ...state, taken: takenBy(effect) };
  }
}

const addressOf = (run: string, id: string) => ({
  of: { space: stateCalls.name, run, ns: "" },
  key: `resume ${id}`,
  branch: 0,
});

const takenBy = ({ startedAt: at, holder: by }: Pick<EffectEntry, "startedAt" | "holder">): TakenBy => ({ at, by });

function takenError(run: string, taken: TakenBy | undefined, what: string): ForkpointError {
  const who = taken ? `by ${taken.by} at ${new Date(taken.at).toISOString()}` : "by another process";
  return new ForkpointError("CONFLICT", `run ${quote(run)} was taken ${who}, ${what}`, taken && { taken });
}

function requireSession(run: string, saved: string | undefined, given: string): void {
  if (saved === given) return;
  const was = saved === undefined ? "without a session" : `with the session ${quote(saved)}`;
  throw new ForkpointError("INVALID_ARGUMENT", `run ${quote(run)} was saved ${was}, not with ${quote(given)}`);
}

/** Reads the newest state of a run. */
async function find({ native, format }: Engine, run: string): Promise<Found | null> {
  const found = await stateCalls.find(native, "newest", { run }, ({ parts, ...rest }, part) => ({
    ...rest,
    parts: parts.map(part),
  }));
  if (found === null) return null;
  const { id, session, parts, now, effects } = found;
  const [part] = parts;
  const what = `the state of run ${quote(run)}`;
  if (part === undefined) throw new ForkpointError("CORRUPT", `${what} is missing: restore a backup`);
  const text = part.name === STATE ? wholeBytes(part.bytes) : deserializeValue(format, part.tag, part.bytes, what);
  const state = { runId: run, text: text instanceof Uint8Array ? Buffer.from(text).toString() : String(text) };
  const { key } = addressOf(run, id);
  const effect = effects.find((one) => one.key === key);
  return { id, state: session === null ? state : { ...state, sessionId: session }, now, effect };
}

/** The name of a part with plain text: JSON, which the inspector can read. Other parts hold serialized text. */
const STATE = "state";

interface Part extends Serialized {
  name: string;
  status: "waiting" | "finished" | "unfinished" | "unknown";
}

const statuses: Record<string, Part["status"]> = {
  next_step_interruption: "waiting",
  next_step_final_output: "finished",
};

function partOf(text: string, format: Format): Part {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    // The user may have encrypted the text.
  }
  const isState = typeof state === "object" && state !== null;
  const status = isState
    ? (statuses[String((state as { currentStep?: { type?: unknown } }).currentStep?.type)] ?? "unfinished")
    : "unknown";
  if (isState && !isCustom(format) && text.isWellFormed())
    return { name: STATE, tag: "json", bytes: Buffer.from(text), status };
  return { name: "text", ...format.serialize(text, "text"), status };
}
