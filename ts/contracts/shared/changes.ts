/** What `recover` does with a run whose program has changed. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { HeldLease } from "../../store/lease.js";
import type { Mark } from "../../store/mark.js";
import { type ProgramShape, compareShapes, missingNodes, shapeHash } from "../../store/compare-programs.js";
import { type EndedRun, type PendingFork, endRun } from "../../store/ended-runs.js";
import { programOf } from "../../store/stored-programs.js";
import type { Candidate, Framework } from "./framework.js";
import type { ChangeDecision, ChangedRun, ProgramVersion, Settings, UnrecoveredRun } from "./recover-options.js";

const decisions: ReadonlySet<unknown> = new Set(["leave", "resume", "fork", "end"]);

/** A run that does not fit this version. */
interface Changed {
  changed: ChangedRun;
  /** The fork that an earlier process began before it ended. */
  fork: PendingFork | undefined;
}

export class Changes {
  readonly #framework: Framework<object>;
  readonly #settings: Settings;
  readonly #to: ProgramVersion;
  /** The changed runs that a callback decides about, as they were last read. */
  readonly #undecided = new Map<string, Changed>();

  constructor(framework: Framework<object>, settings: Settings) {
    this.#framework = framework;
    this.#settings = settings;
    this.#to = versionOf(framework.shape);
  }

  /** Returns the program that made a checkpoint. Returns null if the store does not know it. */
  async shapeOf({ shape: hash }: Mark): Promise<ProgramShape | null> {
    const { handle, space, shape } = this.#framework;
    if (hash === undefined || hash === this.#to.shape) return hash === undefined ? null : shape;
    return programOf(handle, space, hash);
  }

  /**
   * Compares the program that made a run with this one. Returns an outcome if the run does not fit and no callback can
   * decide about it. `ended` is what an earlier `recover` has stored about the run.
   */
  async judge(
    run: string,
    { newest, mark, position }: Candidate,
    from: ProgramShape | null,
    ended: EndedRun | null,
  ): Promise<UnrecoveredRun | undefined> {
    this.#undecided.delete(run);
    const differences = await this.#compare(from, { mark, position });
    const fork = ended?.fork;
    if (differences.length === 0 && fork === undefined) return undefined;
    const changed = this.#changed(run, newest, mark, from, differences);
    const { onChanged, dryRun } = this.#settings;
    if (fork === undefined && (onChanged === undefined || dryRun)) return leftAlone(changed);
    this.#undecided.set(run, { changed, fork });
    return undefined;
  }

  /**
   * Asks the callback what to do with a changed run, and does it, under the run's lease. `recoverFork` recovers a fork.
   * Resolves to undefined if the run continues.
   */
  async apply(
    run: string,
    lease: HeldLease,
    recoverFork: (fork: string, lease: HeldLease) => Promise<unknown>,
  ): Promise<UnrecoveredRun | undefined> {
    const found = this.#undecided.get(run);
    if (found === undefined) return undefined;
    const { changed, fork } = found;
    const decision = fork === undefined ? await this.#decide(run, changed) : "fork";
    if (decision === "resume") return undefined;
    if (decision === "fork") return this.#fork(run, found, lease, recoverFork);
    return decision === "end" ? this.#end(run, changed, lease) : leftAlone(changed);
  }

  async #end(run: string, changed: ChangedRun, lease: HeldLease): Promise<UnrecoveredRun> {
    await this.#record(run, { at: changed.checkpointId }, lease);
    return { outcome: "changed", decision: "end", ...changed };
  }

  #record(run: string, ended: EndedRun, lease: HeldLease): Promise<void> {
    const { handle, space } = this.#framework;
    return handle.run(({ native }) => endRun(native, { space, run }, ended), lease);
  }

  /**
   * Forks a run, and recovers the fork. The store records the fork before the fork exists, until the fork has a
   * checkpoint of its own. After a crash, the next process therefore continues the same fork.
   */
  async #fork(
    run: string,
    { changed, fork: begun }: Changed,
    lease: HeldLease,
    recoverFork: (fork: string, lease: HeldLease) => Promise<unknown>,
  ): Promise<UnrecoveredRun> {
    const { forksInPlace } = this.#framework;
    const at = changed.checkpointId;
    const fork = begun ?? (await this.#newFork(run, changed));
    const outcome: UnrecoveredRun = { outcome: "changed", decision: "fork", fork: fork.run, ...changed };
    if (!forksInPlace) await this.#record(run, { at, fork }, lease);
    await this.#framework.fork(run, fork, lease);
    await recoverFork(fork.run, lease);
    if (forksInPlace) return outcome;
    const newest = await this.#framework.look(fork.run);
    if (newest?.newest !== fork.id) await this.#record(run, { at }, lease);
    return outcome;
  }

  async #newFork(run: string, changed: ChangedRun): Promise<PendingFork> {
    const { noun, forksInPlace, earlier } = this.#framework;
    for await (const { id: from, mark, position } of earlier(run)) {
      const differences = await this.#compare(await this.shapeOf(mark), { mark, position });
      if (differences.length > 0) continue;
      const { randomUUID } = crypto();
      return { from, run: forksInPlace ? run : randomUUID(), id: randomUUID() };
    }
    const message =
      `${noun} ${quote(run)} cannot be forked, because none of its checkpoints fits this version of the program ` +
      `(${changed.differences.join("; ")}): end it, and start it again`;
    throw new ForkpointError("INVALID_ARGUMENT", message);
  }

  async #compare(
    from: ProgramShape | null,
    { mark, position }: Pick<Candidate, "mark" | "position">,
  ): Promise<string[]> {
    if (mark.shape === this.#to.shape) return [];
    const { shape } = this.#framework;
    return from === null ? missingNodes(shape, await position()) : compareShapes(from, shape, await position());
  }

  async #decide(run: string, changed: ChangedRun): Promise<ChangeDecision> {
    const onChanged = this.#settings.onChanged as ((run: object) => unknown) | undefined;
    const { noun } = this.#framework;
    const decision = (await onChanged?.({ [`${noun}Id`]: run, ...changed })) ?? "leave";
    if (decisions.has(decision)) return decision as ChangeDecision;
    throw typeError(
      `onChanged must return "leave", "resume", "fork", "end" or nothing, but returned ${show(decision)}`,
    );
  }

  #changed(
    run: string,
    checkpointId: string,
    { program, shape }: Mark,
    old: ProgramShape | null,
    differences: string[],
  ): ChangedRun {
    const from = old === null ? null : { version: old.version ?? null, shape: shape ?? shapeHash(old) };
    const [one, other] = [from?.version ?? null, this.#to.version];
    const by =
      one === null || one === other ? "another version of this program" : `version ${quote(one)} of this program`;
    const message =
      `${this.#framework.noun} ${quote(run)} was made by ${by} and does not fit this one: ${differences.join("; ")}. ` +
      "Recover it with its own version, or decide with onChanged what becomes of it";
    return { program: program ?? null, checkpointId, from, to: this.#to, differences, message };
  }
}

const leftAlone = (changed: ChangedRun): UnrecoveredRun => ({ outcome: "changed", decision: "leave", ...changed });

function versionOf(shape: ProgramShape): ProgramVersion {
  return { version: shape.version ?? null, shape: shapeHash(shape) };
}
