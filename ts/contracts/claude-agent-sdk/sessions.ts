/** Reads and changes sessions. A change of a main transcript includes the session's summary, in one transaction. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import { removing } from "../../store/removing.js";
import type { Seen } from "../../store/seen.js";
import { batches } from "../../store/page.js";
import { Turns } from "../shared/turns.js";
import type { FoldSessionSummary, SessionStoreEntry, SessionSummaryEntry } from "./contract.js";
import type { NativeStore } from "../../bridge/native.js";
import { isCustom } from "../../bridge/serializer.js";
import type { Exact } from "../../bridge/wire.js";
import { readRecords } from "../shared/records.js";
import { type Line, type Transcript, keyOf, pack } from "./entries.js";
import { type Listed, type Of, type Row, claude } from "./wire.js";

export const leaseOf = ({ project, session }: Of) => ({ space: claude.name, run: session, ns: project });

/** The number of sessions whose rows stay in memory. */
const KEPT = 1_000;
/** The shared state of a store's calls. */
export class Sessions {
  readonly #fold: FoldSessionSummary | undefined;
  readonly #turns = new Turns();
  /** The rows, as last seen. A change expects the seen version, so an outdated row does no harm. */
  readonly #rows = new Map<string, Row>();
  /** The sessions whose main transcripts this store has seen. */
  readonly #seen: Seen;

  constructor(fold: FoldSessionSummary | undefined, seen: Seen) {
    this.#fold = fold;
    this.#seen = seen;
  }

  /** Appends lines, except those whose `uuid` is already in the transcript. */
  append(engine: Engine, transcript: Transcript, lines: readonly Line[]): Promise<unknown> {
    const { of, subpath } = transcript;
    if (subpath === undefined) return this.#alone(of, () => this.#change(engine, of, lines));
    const { records, bytes } = pack(lines, engine.format);
    const append = () => {
      // A subagent that outlives its session must not recreate a part of it.
      const incarnation = this.#seen.incarnation(nameOf(of));
      const fields = { of, subpath, entries: records, row: undefined, known: true, incarnation };
      return claude.call(engine.native, "append", fields, [bytes]);
    };
    if (this.#seen.has(nameOf(of))) return this.#turns.shared(nameOf(of), append);
    return this.#alone(of, async () => {
      while (!this.#seen.has(nameOf(of)) && (await this.#read(engine, of)) === undefined) {
        // The subagent comes first. With a row, the session is listed, counted and pruned.
        const row = { seen: undefined, version: firstVersion(), mtime: Date.now(), summary: "" };
        const fields = { of, subpath, entries: records, row, known: false, incarnation: undefined };
        const learn = (incarnation: Exact | null) => this.#seen.note(nameOf(of), incarnation);
        try {
          return await claude.call(engine.native, "append", fields, [bytes], learn);
        } catch (error) {
          // Another writer was faster: read its row.
          if (!isOvertaken(error)) throw error;
        }
      }
      return append();
    });
  }

  async #change(engine: Engine, of: Of, lines: readonly Line[]): Promise<void> {
    let left = lines;
    while (left.length > 0) {
      const before = this.#rows.get(nameOf(of)) ?? (await this.#read(engine, of));
      const row = await this.#after(engine, of, before, left);
      const { records, bytes } = pack(left, engine.format);
      try {
        const fields = { of, subpath: undefined, entries: records, row, known: false, incarnation: undefined };
        const learn = (incarnation: Exact | null) => this.#seen.note(nameOf(of), incarnation);
        const isKnown = this.#seen.incarnation(nameOf(of)) !== undefined && before !== undefined;
        await claude.call(engine.native, "append", fields, [bytes], isKnown ? undefined : learn);
        return this.#keep(of, row);
      } catch (error) {
        this.#rows.delete(nameOf(of));
        if (!isOvertaken(error)) throw error;
        const now = await this.#read(engine, of);
        // Another writer was faster: retry.
        if (now?.version !== before?.version) continue;
        // Otherwise a caller has repeated entries that are already stored.
        const fresh = await this.#fresh(engine, of, left);
        if (fresh.length === left.length) throw error;
        left = fresh;
      }
    }
  }

  /** Returns the lines that are not yet in the main transcript. */
  async #fresh(engine: Engine, of: Of, lines: readonly Line[]): Promise<Line[]> {
    const uuids = new Set((await this.entries(engine, { of, subpath: undefined }))?.map(({ uuid }) => keyOf(uuid)));
    return lines.filter(({ uuid }) => uuid === null || !uuids.has(uuid));
  }

  /** Returns the row after an append of these lines. */
  async #after(engine: Engine, of: Of, before: Row | undefined, lines: readonly Line[]) {
    const mtime = Math.max(Date.now(), (before?.mtime ?? 0) + 1);
    const version = before === undefined ? firstVersion() : before.version + 1;
    const summary = await this.#summary(engine, of, before, lines, mtime);
    return { seen: before?.version, version, mtime, summary };
  }

  async #summary(
    engine: Engine,
    of: Of,
    before: Row | undefined,
    lines: readonly Line[],
    mtime: number,
  ): Promise<string> {
    if (this.#fold === undefined || isCustom(engine.format)) return "";
    const added = lines.map(({ text }) => JSON.parse(text) as SessionStoreEntry);
    // A store without the SDK's function has appended to the session.
    const isUnknown = before !== undefined && before.summary === "";
    const earlier = isUnknown ? await this.entries(engine, { of, subpath: undefined }) : null;
    const previous =
      before === undefined || isUnknown ? undefined : (JSON.parse(before.summary) as SessionSummaryEntry);
    return this.#folded(of, previous, [...(earlier ?? []), ...added], mtime);
  }

  /** Without a summary, the SDK reads the session itself. An error of its function must therefore not lose entries. */
  #folded(of: Of, previous: SessionSummaryEntry | undefined, entries: SessionStoreEntry[], mtime: number): string {
    try {
      const key = { projectKey: of.project, sessionId: of.session };
      return JSON.stringify(this.#fold?.(previous, key, entries, { mtime })) ?? "";
    } catch {
      return "";
    }
  }

  /** Reads entries, or null if there are none, after the pending changes of this store. */
  load(engine: Engine, transcript: Transcript, skip?: number, limit?: number) {
    return this.#turns.shared(nameOf(transcript.of), () => this.entries(engine, transcript, skip, limit));
  }

  async entries(engine: Engine, { of, subpath }: Transcript, skip = 0, limit = Number.MAX_SAFE_INTEGER) {
    const parts = await claude.find(engine.native, "entries", { of, subpath, skip, limit }, ({ entries }, part) =>
      entries.map(part),
    );
    return parts && readRecords<SessionStoreEntry>(parts, engine.format, "an entry of the session");
  }

  /** Keeps the entries up to the one with this `uuid`. */
  truncate(engine: Engine, { of, subpath }: Transcript, uuid: string): Promise<void> {
    return this.#alone(of, async () => {
      for (;;) {
        const before = subpath === undefined ? await this.#read(engine, of) : undefined;
        const entries = (await this.entries(engine, { of, subpath })) ?? [];
        const length = entries.findIndex((entry) => entry.uuid === uuid) + 1;
        if (length === 0) {
          const message = `session ${quote(of.session)} has no entry with the uuid ${quote(uuid)}: read the entries again`;
          throw new ForkpointError("NOT_FOUND", message);
        }
        if (length === entries.length) return;
        const mtime = Math.max(Date.now(), (before?.mtime ?? 0) + 1);
        const row = before && {
          seen: before.version,
          version: before.version + 1,
          mtime,
          summary: isCustom(engine.format) ? "" : this.#folded(of, undefined, entries.slice(0, length), mtime),
        };
        this.#rows.delete(nameOf(of));
        try {
          await claude.call(engine.native, "truncate", { of, subpath, length, row });
          return;
        } catch (error) {
          if (!isOvertaken(error)) throw error;
        }
      }
    });
  }

  /** Removes a transcript. With a session's own transcript, removes all of the session. */
  remove({ native }: Engine, { of, subpath }: Transcript, force: boolean): Promise<unknown> {
    return this.#alone(of, () => {
      const owned = removing(native, leaseOf(of), force);
      if (subpath !== undefined) return claude.call(owned, "removeSubpath", { of, subpath });
      this.#rows.delete(nameOf(of));
      return claude.call(owned, "remove", { of, seen: undefined });
    });
  }

  /** Removes a session if it has not changed since it was seen. */
  removeIfSame(native: NativeStore, of: Of, seen: number): Promise<unknown> {
    this.#rows.delete(nameOf(of));
    return claude.call(native, "remove", { of, seen });
  }

  subpaths(engine: Engine, of: Of): Promise<string[]> {
    return this.#turns.shared(nameOf(of), () => claude.call(engine.native, "subpaths", { of }));
  }

  /** Lists the sessions of a project, or all, page by page, the last begun first. */
  async *list(engine: Engine, project?: string): AsyncGenerator<Listed> {
    await this.#turns.settled();
    const read = (before: number | undefined, limit: number) =>
      claude.call(engine.native, "sessions", { project, before, limit });
    for await (const sessions of batches(read)) yield* sessions;
  }

  async #read(engine: Engine, of: Of): Promise<Row | undefined> {
    const row = (await claude.call(engine.native, "session", { of })) ?? undefined;
    if (row !== undefined) this.#seen.note(nameOf(of), row.incarnation);
    return row;
  }

  #keep(of: Of, { version, mtime, summary }: Row): void {
    this.#rows.delete(nameOf(of));
    this.#rows.set(nameOf(of), { version, mtime, summary });
    this.#seen.note(nameOf(of));
    if (this.#rows.size > KEPT) this.#rows.delete(this.#rows.keys().next().value!);
  }

  #alone<T>(of: Of, change: () => Promise<T>): Promise<T> {
    return this.#turns.alone(nameOf(of), change);
  }
}

/** A random version, so that a recreated session never has a version that was seen before. */
const firstVersion = () => crypto().randomInt(2 ** 47);

const nameOf = ({ project, session }: Of) => JSON.stringify([project, session]);
