import {
  type AgentState,
  type Message,
  type NewCheckpoint,
  SessionStore,
  type SessionStoreOptions,
} from "forkpoint/helix";
import { type Kind, checkedAfter, pairOf, place } from "../helpers.js";

export { expectSound } from "../helpers.js";
export type { Kind };

/**
 * Opens a session store on a new target. When the running test ends, the database must be undamaged, and the store is
 * closed.
 */
export function make<TState extends object = Record<string, any>>(
  kind: Kind,
  options?: SessionStoreOptions,
): SessionStore<TState> {
  return at(place(kind), options);
}

/** Opens a session store on a target. Checks and closes it as `make` does. */
export function at<TState extends object = Record<string, any>>(
  target: ConstructorParameters<typeof SessionStore>[0],
  options?: SessionStoreOptions,
): SessionStore<TState> {
  return checkedAfter(new SessionStore<TState>(target, options));
}

/** Opens two session stores on the same new data. */
export const pair = (kind: Kind, options?: { now?: () => number }): Promise<[SessionStore, SessionStore]> =>
  pairOf(kind, (target) => at(target, options));

/** Opens a session store and creates the session "s". */
export async function withSession(kind: Kind, options?: SessionStoreOptions): Promise<SessionStore> {
  const store = make(kind, options);
  await store.createSession("s", { agentType: "tester" });
  return store;
}

/** Makes the state of an agent. */
export function stateOf(fields: Record<string, unknown> = {}): AgentState {
  return { sessionId: "s", agentType: "tester", status: "active", stepCount: 0, customState: {}, ...fields };
}

/** Makes messages with different content: "m0", "m1" and so on. */
export function texts(count: number, first = 0, name = "m"): Message[] {
  return Array.from({ length: count }, (_, i) => ({ role: "user", content: `${name}${first + i}` }));
}

/** Returns the content of messages. */
export function contents(messages: readonly Message[] | undefined): unknown[] {
  if (messages === undefined) throw new Error("there are no messages");
  return messages.map(({ content }) => content);
}

/** Returns the content of all messages of a session. */
export async function logOf(store: SessionStore<any>, sessionId = "s"): Promise<unknown[]> {
  return contents((await store.getMessages(sessionId)).messages);
}

/** The time at which a test clock starts, in ms since the epoch. */
export const START = 1_700_000_000_000;

/** Makes a checkpoint of the session "s". Its id and its timestamp follow from its step. */
export function checkpoint(stepCount: number, fields: Partial<NewCheckpoint> & Record<string, unknown> = {}) {
  const { sessionId = "s" } = fields;
  return {
    id: `${sessionId}/${stepCount}`,
    sessionId,
    stepCount,
    timestamp: START + stepCount,
    state: stateOf({ sessionId, stepCount }),
    ...fields,
  } satisfies NewCheckpoint;
}

/** A clock that moves only when a test moves it. */
export class TestClock {
  time = START;
  readonly now = () => this.time;

  pass(ms: number): void {
    this.time += ms;
  }
}

/** Every call that writes to a session "s" that must be there. */
export const writes = (store: SessionStore): Array<() => Promise<unknown>> => [
  () => store.updateStatus("s", "running"),
  () => store.compareAndSetStatus("s", ["active"], "running"),
  () => store.incrementStepCount("s"),
  () => store.mergeCustomState("s", { a: 1 }),
  () => store.stageChanges("s", { a: 1 }),
  () => store.promoteStaging("s"),
  () => store.discardStaging("s"),
  () => store.appendMessages("s", texts(1)),
  () => store.appendMessages("s", []),
  () => store.truncateMessages("s", 0),
  () => store.startRun("s"),
  () => store.endRun("s", "r"),
  () => store.addSubSession("s", "child"),
  () => store.rewindTo("s/1"),
  () => store.branchSession("s/1", "t"),
];

/** Messages that a state may have although the log of its session has others. */
export const besides = (log: Message[]): Array<[what: string, messages: Message[]]> => [
  ["the messages of the log", log],
  ["fewer messages", log.slice(0, 2)],
  ["more messages", [...log, ...texts(2, 4)]],
  ["no messages", []],
  ["another order", log.toReversed()],
  ["another content", log.map((message) => ({ ...message, content: "other" }))],
  ["another order of keys", log.map(({ role, content }) => ({ content, role }))],
  ["an extra field", log.map((message) => Object.assign({ id: 1 }, message))],
];
