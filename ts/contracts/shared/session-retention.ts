/** Removes whole sessions: by age and by number, on request and in the background. */

import { typeError } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import type { NativeStore, RunKey } from "../../bridge/native.js";
import type { StoreHandle } from "../../store/handle.js";
import { checkTtls, readRecord, whole } from "../../store/options.js";
import { isLeased, removeIfFree } from "../../store/removing.js";
import { pruneOptions, throwIfStopped, waitingBefore } from "../../store/retention.js";
import { Expiry } from "./expiry.js";

/** The sessions to remove. Each rule applies independently of the other. */
export interface SessionPruneOptions {
  /** Removes the sessions whose last entry or item was stored before this time: a Date, or ms since the epoch. */
  olderThan?: Date | number | null;
  /**
   * If true, the rules also remove sessions that wait for a person. If false, none of them. Default: those older than
   * `waitingTtlMs`.
   */
  waiting?: boolean;
  /** How many sessions to keep (of each project): those saved last, whatever the clocks say. */
  keepSessions?: number;
  /** If true, removes nothing and returns what would be removed. Default: false. */
  dryRun?: boolean;
  /** Stops between two sessions. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
}

const rules = {
  olderThan: pruneOptions.olderThan,
  waiting: pruneOptions.waiting,
  dryRun: pruneOptions.dryRun,
  signal: pruneOptions.signal,
  keepSessions: whole(0, Number.MAX_SAFE_INTEGER, "sessions"),
};

/** A contract's sessions, as retention uses them. */
export interface RetainedSessions<R> {
  list(engine: Engine): AsyncIterable<R>;
  /** The time of the last change, in ms since the epoch, for rules about age. */
  changedAt(row: R): number;
  /** The number of the last save, greater than those of earlier saves, for rules about numbers. */
  savedAs(row: R): number;
  /** The group of sessions, such as a project, in which this one is counted. */
  groupOf(row: R): string;
  /** The run of a session. Rules keep a session whose run is leased. */
  runOf(row: R): RunKey;
  /** Returns true if the session waits for a person. Rules keep it. Left out: no session waits. */
  waits?(engine: Engine, row: R): Promise<boolean>;
  /** Removes a session. Fails with `CONFLICT` if the session has changed since it was listed. */
  remove(native: NativeStore, row: R): Promise<unknown>;
}

/** The options of a contract's store. A missing one is that of the open store. */
export interface SessionTtls {
  ttlMs?: number | null | undefined;
  waitingTtlMs?: number | null | undefined;
}

export class SessionRetention<R> {
  readonly #handle: StoreHandle;
  readonly #ttls: SessionTtls;
  readonly #sessions: RetainedSessions<R>;
  readonly #expiry = new Expiry();

  private constructor(handle: StoreHandle, ttls: SessionTtls, sessions: RetainedSessions<R>) {
    this.#handle = handle;
    this.#ttls = ttls;
    this.#sessions = sessions;
  }

  static of<R>(
    handle: StoreHandle,
    { ttlMs, waitingTtlMs }: SessionTtls,
    sessions: RetainedSessions<R>,
  ): SessionRetention<R> {
    const ttls = { ...(ttlMs !== undefined && { ttlMs }), ...(waitingTtlMs !== undefined && { waitingTtlMs }) };
    const [own] = Object.keys(ttls);
    if (!handle.owned && own !== undefined) {
      throw typeError(`option "${own}" belongs to openStore() when the target is an open store`);
    }
    if (handle.owned) checkTtls(ttlMs, waitingTtlMs);
    return new SessionRetention(handle, ttls, sessions);
  }

  /** Returns the same retention over another handle of the store. */
  through(handle: StoreHandle): SessionRetention<R> {
    return new SessionRetention(handle, this.#ttls, this.#sessions);
  }

  get #ttl(): number | null {
    const { ttlMs = this.#handle.retention.ttlMs } = this.#ttls;
    return ttlMs;
  }

  prune(options?: SessionPruneOptions): Promise<{ sessions: number }> {
    return this.#handle.run(async (engine) => {
      const {
        olderThan,
        waiting,
        keepSessions = Number.POSITIVE_INFINITY,
        dryRun = false,
        signal,
      } = readRecord(options, "options", rules);
      const { list, changedAt, savedAs, groupOf, runOf, waits, remove } = this.#sessions;
      const { waitingTtlMs = this.#handle.retention.waitingTtlMs } = this.#ttls;
      const ttlMs = this.#ttl;
      const before =
        olderThan ?? (olderThan === undefined && ttlMs !== null ? Date.now() - ttlMs : Number.NEGATIVE_INFINITY);
      // A rule about numbers has no time.
      const waitsSince = waitingBefore(Number.POSITIVE_INFINITY, waiting, { waitingTtlMs });
      const all: R[] = [];
      for await (const row of list(engine)) all.push(row);
      const counts = new Map<string, number>();
      let sessions = 0;
      for (const row of all.toSorted((a, b) => savedAs(b) - savedAs(a))) {
        const group = groupOf(row);
        const newer = counts.get(group) ?? 0;
        counts.set(group, newer + 1);
        if (changedAt(row) >= before && newer < keepSessions) continue;
        throwIfStopped(signal, () => this.#handle.closing);
        if (changedAt(row) >= waitsSince && (await waits?.(engine, row)) === true) continue;
        const { native } = engine;
        const goes = dryRun
          ? !(await isLeased(native, runOf(row)))
          : await removeIfFree(native, runOf(row), (free) => remove(free, row));
        sessions += Number(goes);
      }
      return { sessions };
    });
  }

  /** Removes the expired sessions in the background, if a sweep is due. */
  sweep(): void {
    this.#expiry.sweepIfDue(this.#handle, { what: "expired sessions", ttlMs: this.#ttl, sweep: () => this.prune() });
  }
}
