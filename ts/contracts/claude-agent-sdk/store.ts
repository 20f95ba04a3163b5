/** `SessionStore`, the class that the Claude Agent SDK uses. */

import { isCustom } from "../../bridge/serializer.js";
import { ContractStore } from "../../store/contract-store.js";
import { StoreHandle } from "../../store/handle.js";
import type { Lease } from "../../store/lease.js";
import { type StoreOptions, atMost, readRecord, splitOptions, whole } from "../../store/options.js";
import { type DeleteOptions, forced } from "../../store/removing.js";
import type { StatsOptions } from "../../store/retention.js";
import type { RunStats } from "../../store/results.js";
import type { Store } from "../../store/store.js";
import { nonEmpty } from "../../store/ids.js";
import { type SessionPruneOptions, SessionRetention } from "../shared/session-retention.js";
import type { FoldSessionSummary, SessionKey, SessionStoreEntry, SessionSummaryEntry } from "./contract.js";
import { linesOf, readKey } from "./entries.js";
import { Sessions, leaseOf } from "./sessions.js";
import { foldOption, importedFold, installedFold } from "./summary.js";
import { type Listed, claude } from "./wire.js";

export interface SessionStoreOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes" | "waitingTtlMs"> {
  /**
   * The SDK's function of this name, which `listSessionSummaries` needs. Default: that of the installed
   * `@anthropic-ai/claude-agent-sdk`.
   */
  foldSessionSummary?: FoldSessionSummary;
  /** How long a session is kept after its last entry, in ms. Older ones are removed in the background. Default: no limit. */
  ttlMs?: number | null;
}

const ownOptions = { foldSessionSummary: foldOption, ttlMs: atMost("milliseconds") };
const rangeOptions = {
  after: whole(-1, Number.MAX_SAFE_INTEGER, "entries"),
  limit: whole(0, Number.MAX_SAFE_INTEGER, "entries"),
};

/**
 * The sessions of the Claude Agent SDK, in a database.
 *
 * - An append is one transaction, with the summary of the session. A resolved append is durable.
 * - An entry is stored once: entries whose `uuid` is already in the transcript are left out.
 * - Reads return fresh objects.
 *
 * All methods give the error codes `CLOSED`, `BUSY`, `FULL`, `UNAVAILABLE` and `CORRUPT` where they apply.
 *
 * @example
 * ```ts
 * const sessionStore = new SessionStore("agent.db");
 * for await (const message of query({ prompt: "Hello", options: { sessionStore } })) console.log(message.type);
 * ```
 */
export class SessionStore extends ContractStore {
  readonly #handle: StoreHandle;
  #retention: SessionRetention<Listed>;
  #sessions: Sessions;

  /**
   * Returns the summaries of a project's sessions, made by `foldSessionSummary`. Missing if the SDK's function was not
   * found, or if the store has your own serializer.
   */
  listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;

  /**
   * @param target a file path, `"sqlite:<path>"`, a `file:` URL, `"postgres://<user>@<host>/<database>"`,
   *   `"jsonl:<folder>"`, `"memory:"`, or a store from `openStore`.
   * @param options `foldSessionSummary`, `ttlMs` and the options of `openStore`. With an open store: only the first.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: SessionStoreOptions) {
    const { own, others } = splitOptions(options, ownOptions);
    const handle = StoreHandle.of(target, others as StoreOptions | undefined, claude);
    super(handle);
    this.#handle = handle;
    // A summary has texts of the session. The user's serializer may be meant to encrypt them.
    const fold = isCustom(handle.format) ? undefined : (own.foldSessionSummary ?? installedFold());
    this.#sessions = new Sessions(fold, this.#handle.seen);
    this.#retention = SessionRetention.of<Listed>(
      handle,
      { ttlMs: own.ttlMs },
      {
        list: (engine) => this.#sessions.list(engine),
        changedAt: ({ mtime }) => mtime,
        savedAs: ({ saved }) => saved,
        groupOf: ({ project }) => project,
        runOf: leaseOf,
        remove: (native, { project, session, version }) =>
          this.#sessions.removeIfSame(native, { project, session }, version),
      },
    );
    if (fold !== undefined) this.listSessionSummaries = (projectKey) => this.#summaries(projectKey);
  }

  /**
   * Imports the SDK, then opens a store. Use this where Node cannot `require` ES modules.
   * @throws ForkpointError `UNSUPPORTED` if the SDK is not installed, or has no `foldSessionSummary`.
   * @example const sessionStore = await SessionStore.open("agent.db");
   */
  static async open(target: string | URL | Store, options?: SessionStoreOptions): Promise<SessionStore> {
    return new SessionStore(target, { foldSessionSummary: await importedFold(), ...options });
  }

  /**
   * Appends entries to a transcript, all or none. Entries whose `uuid` is already in the transcript are left out.
   * @throws TypeError for a wrong key or entry. ForkpointError `INVALID_ARGUMENT` for an entry that is not JSON.
   *   `CONFLICT` for a subagent if this object has seen the session and it was deleted. Nothing was stored then.
   * @example await store.append({ projectKey: "-work", sessionId }, [{ type: "custom-title", customTitle: "Rust" }]);
   */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    await this.#handle.save(async (engine, held) => {
      const [transcript, lines] = [readKey(key), linesOf(entries)];
      for (const { text } of lines) held.add(text.length);
      if (lines.length > 0) await this.#sessions.append(engine, transcript, lines);
    });
    this.#retention.sweep();
  }

  /**
   * Returns the entries of a transcript in order, or null if there is none. `after` and `limit` select a page: `after`
   * is the index of the last entry before the page.
   * @example const firstPage = await store.load(key, { limit: 100 });
   */
  load(key: SessionKey, range?: { after?: number; limit?: number }): Promise<SessionStoreEntry[] | null> {
    return this.#handle.run((engine) => {
      const { after = -1, limit } = readRecord(range, "range", rangeOptions);
      return this.#sessions.load(engine, readKey(key), after + 1, limit);
    });
  }

  /**
   * Lists the sessions of a project with a main transcript. `mtime` is the time of its last append.
   * @example const sessions = (await store.listSessions("-work")).toSorted((a, b) => b.mtime - a.mtime);
   */
  listSessions(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>> {
    return this.#listed(projectKey, ({ session, mtime, main }) => (main ? { sessionId: session, mtime } : undefined));
  }

  #summaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    return this.#listed(projectKey, ({ summary }) =>
      summary === "" ? undefined : (JSON.parse(summary) as SessionSummaryEntry),
    );
  }

  #listed<T>(projectKey: unknown, show: (row: Listed) => T | undefined): Promise<T[]> {
    return this.#handle.run(async (engine) => {
      const all: T[] = [];
      for await (const row of this.#sessions.list(engine, nonEmpty(projectKey, "projectKey"))) {
        const shown = show(row);
        if (shown !== undefined) all.push(shown);
      }
      return all;
    });
  }

  /**
   * Lists the projects that have sessions.
   * @example const [projectKey] = await store.listProjects();
   */
  listProjects(): Promise<string[]> {
    return this.#handle.run(async (engine) => {
      const projects = new Set<string>();
      for await (const { project } of this.#sessions.list(engine)) projects.add(project);
      return [...projects];
    });
  }

  /**
   * Removes a session with the transcripts of its subagents. With a `subpath`, removes only that transcript. An unknown key
   * causes no error.
   * @throws ForkpointError `CONFLICT` if a process holds the lease of the session, unless `force` is true.
   * @example await store.delete({ projectKey: "-work", sessionId });
   */
  async delete(key: SessionKey, options?: DeleteOptions): Promise<void> {
    await this.#handle.run((engine) => this.#sessions.remove(engine, readKey(key), forced(options)));
  }

  /**
   * Lists the subpaths of a session.
   * @example const subagents = await store.listSubkeys({ projectKey: "-work", sessionId });
   */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    return this.#handle.run((engine) => this.#sessions.subpaths(engine, readKey(key).of));
  }

  /**
   * Rewinds a transcript: keeps the entries up to the one with this `uuid`, inclusive, and updates the summary.
   * @throws ForkpointError `NOT_FOUND` if there is no such entry.
   * @example await store.truncate({ projectKey: "-work", sessionId }, uuid);
   */
  truncate(key: SessionKey, uuid: string): Promise<void> {
    return this.#handle.run((engine) => this.#sessions.truncate(engine, readKey(key), nonEmpty(uuid, "uuid")));
  }

  /**
   * Removes whole sessions. Default for `olderThan`: sessions older than `ttlMs`.
   * @throws TypeError or RangeError for a wrong option. ForkpointError `CLOSED` if the store is closed before it ends.
   * @example const { sessions } = await store.prune({ olderThan: Date.now() - 30 * 86_400_000, dryRun: true });
   */
  prune(options?: SessionPruneOptions): Promise<{ sessions: number }> {
    return this.#retention.prune(options);
  }

  /**
   * Returns the numbers of sessions (`runs`) and entries (`records`), and their storage in bytes.
   * @example const { runs, records, recordBytes } = await store.stats();
   */
  stats(options?: StatsOptions): Promise<RunStats> {
    return this.#handle.stats(options);
  }

  withLease(lease: Lease): SessionStore {
    const handle = this.#handle.withLease(lease);
    const view = new SessionStore(handle.asStore);
    [view.#sessions, view.#retention] = [this.#sessions, this.#retention.through(handle)];
    if (this.listSessionSummaries === undefined) delete view.listSessionSummaries;
    else view.listSessionSummaries = (projectKey) => view.#summaries(projectKey);
    return view;
  }
}
