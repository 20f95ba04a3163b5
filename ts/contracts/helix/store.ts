/** `SessionStore`, the class that Helix uses. */

import type {
  AgentState,
  Checkpoint,
  CheckpointCreatedEvent,
  CheckpointPage,
  CreateSessionOptions,
  CustomStateChanges,
  EndRun,
  MergeResult,
  Message,
  MessagesPage,
  Run,
  SessionPruneResult,
  SessionStats,
  SessionStore as Contract,
  SessionStoreOptions,
  SessionsPage,
  StartRun,
  SubSessionRef,
} from "../../../helix.js";
import type {
  CheckOptions,
  Lease,
  LeaseOptions,
  PruneOptions,
  RunRef,
  StatsOptions,
  VerifyReport,
} from "../../../index.js";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, isArray, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { readRecord } from "../../store/options.js";
import { stats } from "../../store/retention.js";
import * as checkpoints from "./checkpoints.js";
import { Comparison } from "./comparison.js";
import * as customState from "./custom-state.js";
import { Sweeper, prune } from "./expiry.js";
import { Events } from "./events.js";
import { Clock, count, messageOptions, readSessionOptions } from "./options.js";
import * as runs from "./runs.js";
import * as sessions from "./sessions.js";
import { Turns } from "./turns.js";
import { encodeState, fieldsOf, optionalText, packMessages, requireStatus, splitSession } from "./values.js";
import { SESSIONS, helix } from "./wire.js";

export class SessionStore<TState extends object> implements Contract<TState> {
  readonly #handle: StoreHandle;
  #clock: Clock;
  #turns = new Turns();
  readonly #comparison = new Comparison();
  readonly #sweeper = new Sweeper();
  #events = new Events();

  constructor(target: string | URL | object, options?: SessionStoreOptions) {
    const { now, ttlMs, others } = readSessionOptions(options);
    this.#handle = StoreHandle.of(target, others, helix);
    if (!this.#handle.owned && ttlMs !== undefined) {
      throw typeError('option "ttlMs" belongs to openStore() when the target is an open store');
    }
    const ttl = ttlMs ?? null;
    this.#clock = new Clock(now, () => (this.#handle.owned ? ttl : this.#handle.retention.ttlMs));
  }

  createSession(sessionId: string, options: CreateSessionOptions<TState> = {} as never): Promise<void> {
    return this.#save(async (context) => {
      const id = requireId(sessionId, "sessionId");
      const { agentType, initialState, ...others } = fieldsOf(options, "options");
      const begun = { sessionId: id, agentType, status: "active", stepCount: 0 };
      // Name the fixed fields first, so that they also come first in the state.
      const state = { ...begun, ...others, ...begun, customState: initialState ?? {} };
      const encoded = encodeState(state, "options", context.engine.format);
      optionalText(agentType, "options.agentType");
      await sessions.change(context, id, async (session) => {
        if (session !== null) {
          const message = `session ${quote(id)} exists already: load it, or use another id`;
          throw new ForkpointError("CONFLICT", message);
        }
        return { edit: await sessions.replaceState(context, id, encoded), result: undefined };
      });
    });
  }

  sessionExists(sessionId: string): Promise<boolean> {
    return this.#ask(sessionId, false, async (context, id) => (await sessions.readLog(context, id, 0, 0)) !== null);
  }

  exists(sessionId: string): Promise<boolean> {
    return this.sessionExists(sessionId);
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#ask(sessionId, undefined, async ({ engine: { native } }, id) => {
      await helix.call(native, "delete", { sessionId: id });
    });
  }

  loadState(sessionId: string): Promise<AgentState<TState> | null> {
    return this.#ask(
      sessionId,
      null,
      (context, id) => sessions.loadState(context, id) as Promise<AgentState<TState> | null>,
    );
  }

  saveState(sessionId: string, state: AgentState<TState>): Promise<void> {
    return this.#change(sessionId, async (context, id) => {
      const encoded = encodeState(state, "state", context.engine.format);
      await sessions.change(context, id, async () => ({
        edit: await sessions.replaceState(context, id, encoded),
        result: undefined,
      }));
    });
  }

  updateStatus(sessionId: string, status: string): Promise<void> {
    return this.#change(sessionId, async (context, id) => {
      const next = requireStatus(status, "status");
      await sessions.update(context, id, () => ({ edit: { row: { status: next } }, result: undefined }));
    });
  }

  compareAndSetStatus(sessionId: string, expected: string | readonly string[], next: string): Promise<boolean> {
    return this.#change(sessionId, async (context, id) => {
      const statuses = runs.readStatuses(expected);
      const status = requireStatus(next, "next");
      return sessions.update(context, id, ({ row }) => {
        const holds = statuses.includes(row.status);
        return { edit: holds ? { row: { status } } : null, result: holds };
      });
    });
  }

  incrementStepCount(sessionId: string): Promise<number> {
    return this.#change(sessionId, (context, id) =>
      sessions.update(context, id, ({ row }) => {
        const stepCount = row.stepCount + 1;
        return { edit: { row: { stepCount } }, result: stepCount };
      }),
    );
  }

  mergeCustomState(sessionId: string, changes: CustomStateChanges): Promise<MergeResult> {
    return this.#change(sessionId, async (context, id) =>
      customState.mergeCustomState(context, id, customState.encodeChanges(changes, context.engine.format)),
    );
  }

  stageChanges(sessionId: string, changes: CustomStateChanges): Promise<void> {
    return this.#change(sessionId, async (context, id) =>
      customState.stage(context, id, customState.encodeChanges(changes, context.engine.format)),
    );
  }

  getStaging(sessionId: string): Promise<CustomStateChanges[]> {
    return this.#ask(sessionId, [], async (context, id) =>
      customState.staged(context, await sessions.find(context, id)),
    );
  }

  promoteStaging(sessionId: string): Promise<MergeResult> {
    return this.#change(sessionId, customState.promote);
  }

  discardStaging(sessionId: string): Promise<void> {
    return this.#change(sessionId, customState.discard);
  }

  appendMessages(sessionId: string, messages: readonly Message[]): Promise<void> {
    return this.#change(sessionId, async ({ engine, clock, turns }, id) => {
      if (!isArray(messages)) throw typeError(`messages must be an array, and is ${show(messages)}`);
      const given = readingArgument("messages", () => [...messages]);
      const list = given.findIndex(isArray);
      if (list !== -1) throw typeError(`messages[${list}] must be an object, and is an array`);
      const { bytes, ...packed } = packMessages(given, "messages", engine.format);
      await turns.shared(id, () => {
        const fields = { sessionId: id, messages: packed, aliveSince: clock.aliveSince(), savedAt: clock.now() };
        return helix.call(engine.native, "append", fields, [bytes]);
      });
    });
  }

  getMessages(
    sessionId: string,
    options?: { offset?: number; limit?: number; includeThinking?: boolean },
  ): Promise<MessagesPage> {
    const none = { messages: [], total: 0, hasMore: false };
    return this.#ask(sessionId, none, async (context, id) => {
      const read = readRecord(options, "options", messageOptions);
      const {
        offset = 0,
        limit = Number.MAX_SAFE_INTEGER,
        includeThinking = true,
      } = read as {
        offset?: number;
        limit?: number;
        includeThinking?: boolean;
      };
      const found = await sessions.readLog(context, id, offset, limit);
      if (found === null) return none;
      const messages = found.messages as Message[];
      if (!includeThinking) for (const message of messages) delete message["thinking"];
      return { messages, total: found.total, hasMore: offset + messages.length < found.total };
    });
  }

  getMessageCount(sessionId: string): Promise<number> {
    return this.#ask(sessionId, 0, async (context, id) => (await sessions.readLog(context, id, 0, 0))?.total ?? 0);
  }

  truncateMessages(sessionId: string, length: number): Promise<void> {
    return this.#change(sessionId, async (context, id) => {
      const to = count(length, "count");
      await sessions.update(context, id, async (session) => ({
        edit: await sessions.truncate(context, session, to),
        result: undefined,
      }));
    });
  }

  saveCheckpoint(...given: [checkpoint: object] | [sessionId: string, checkpoint: object]): Promise<void> {
    return this.#save(async (context) => {
      const [checkpoint, sessionId] = splitSession(given);
      const encoded = checkpoints.encodeCheckpoint(checkpoint, sessionId, context.engine.format);
      await checkpoints.save(context, encoded);
      this.#tell(encoded);
    });
  }

  getCheckpoint(
    ...given: [checkpointId: string] | [sessionId: string, checkpointId: string]
  ): Promise<Checkpoint<TState> | null> {
    return this.#run(async (context) => {
      const [checkpointId, sessionId] = splitSession(given);
      await this.#turns.settled(sessionId);
      const found = await checkpoints.find(context, checkpointId, sessionId);
      return found && checkpoints.restore(context, found);
    });
  }

  getLatestCheckpoint(sessionId: string): Promise<Checkpoint<TState> | null> {
    return this.#ask(sessionId, null, async (context, id) => {
      const found = await checkpoints.findLatest(context, id);
      return found && checkpoints.restore(context, found);
    });
  }

  listCheckpoints(
    sessionId: string,
    options?: { limit?: number; offset?: number; cursor?: string | null },
  ): Promise<CheckpointPage> {
    return this.#run((context) => checkpoints.list(context, sessionId, options));
  }

  rewindTo(...given: [checkpointId: string] | [sessionId: string, checkpointId: string]): Promise<Checkpoint<TState>> {
    return this.#run(async (context) => {
      const [checkpointId, sessionId] = splitSession(given);
      await this.#turns.settled(sessionId);
      return checkpoints.rewind(context, checkpointId, sessionId);
    });
  }

  branchSession(checkpointId: string, newSessionId: string): Promise<Checkpoint<TState>> {
    return this.#run(async (context) => {
      const newId = requireId(newSessionId, "newSessionId");
      await this.#turns.settled();
      const copy = await checkpoints.branch(context, checkpointId, newId);
      this.#tell(copy);
      return copy;
    });
  }

  startRun(sessionId: string, run?: StartRun): Promise<Run> {
    return this.#change(sessionId, (context, id) => runs.startRun(context, id, run));
  }

  endRun(sessionId: string, runId: string, end?: EndRun): Promise<Run> {
    return this.#change(sessionId, (context, id) => runs.endRun(context, id, requireId(runId, "runId"), end));
  }

  listRuns(sessionId: string): Promise<Run[]> {
    return this.#ask(sessionId, [], async (context, id) => {
      const session = await sessions.find(context, id);
      return session?.list<Run>("runs", context.engine) ?? [];
    });
  }

  addSubSession(sessionId: string, ref: SubSessionRef): Promise<void> {
    return this.#change(sessionId, (context, id) => runs.addSubSession(context, id, ref));
  }

  listSubSessions(sessionId: string): Promise<SubSessionRef[]> {
    return this.#ask(sessionId, [], async (context, id) => {
      const session = await sessions.find(context, id);
      return session?.list<SubSessionRef>("subSessions", context.engine) ?? [];
    });
  }

  sessions(options?: object): Promise<SessionsPage> {
    return this.#run(async (context) => {
      await this.#turns.settled();
      return sessions.listSessions(context, options);
    });
  }

  on(event: string, listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  off(event: string, listener: (event: CheckpointCreatedEvent, sessionId: string) => void): this {
    this.#events.off(event, listener);
    return this;
  }

  events(sessionId?: string, options?: { signal?: AbortSignal }): AsyncGenerator<CheckpointCreatedEvent> {
    return this.#events.stream(sessionId, options, this.#handle.closing);
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#handle.lease(run, options);
  }

  withLease(lease: Lease): SessionStore<TState> {
    const view = new SessionStore<TState>(this.#handle.withLease(lease));
    [view.#clock, view.#turns, view.#events] = [this.#clock, this.#turns, this.#events];
    return view;
  }

  prune(options?: PruneOptions<SessionPruneResult>): Promise<SessionPruneResult> {
    return this.#run((context) => prune(context, options, () => this.#handle.closing));
  }

  stats(options?: StatsOptions): Promise<SessionStats> {
    return this.#run(async ({ engine }) => {
      const { lineages: _, largest, ...rest } = await stats(engine, helix.name, options);
      const { checkpoints: rows } = await stats(engine, SESSIONS, undefined);
      const named = ({ lineage: sessionId, ...line }: (typeof largest)[number]) => ({ sessionId, ...line });
      return { ...rest, sessions: rows, largest: largest.map(named) };
    });
  }

  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#handle.check(options);
  }

  vacuum(): Promise<void> {
    return this.#handle.vacuum();
  }

  async close(): Promise<void> {
    await this.#handle.close();
    // An object from `withLease` shares the events of the one that made it.
    if (!this.#handle.isLeased) this.#events.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run<T>(work: (context: sessions.Context) => Promise<T>): Promise<T> {
    return this.#handle.run((engine) => work(this.#context(engine)));
  }

  #save<T>(work: (context: sessions.Context) => Promise<T>): Promise<T> {
    return this.#handle.save((engine) => work(this.#context(engine)));
  }

  #context(engine: Engine): sessions.Context {
    return { engine, clock: this.#clock, turns: this.#turns, comparison: this.#comparison };
  }

  /** Runs a read, behind the changes of the session. An id that no session can have gives `none`. */
  #ask<T>(sessionId: unknown, none: T, work: (context: sessions.Context, id: string) => Promise<T>): Promise<T> {
    return this.#run(async (context) => {
      const id = idOrNull(sessionId, "sessionId");
      return id === null ? none : this.#turns.shared(id, () => work(context, id));
    });
  }

  /** Runs a write on a session. */
  async #change<T>(sessionId: unknown, work: (context: sessions.Context, id: string) => Promise<T>): Promise<T> {
    const result = await this.#save((context) => work(context, requireId(sessionId, "sessionId")));
    this.#sweepIfDue();
    return result;
  }

  #tell(checkpoint: { id: string; stepCount: number; sessionId: string }): void {
    this.#events.tell(checkpoint, this);
    this.#sweepIfDue();
  }

  #sweepIfDue(): void {
    if (this.#handle.closing) return;
    void this.#run(async (context) => {
      if (this.#sweeper.due(context)) await this.#sweeper.sweep(context, () => this.#handle.closing);
    }).catch(() => {});
  }
}
