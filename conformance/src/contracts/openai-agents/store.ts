// What the suite uses of a store for sessions. Authors write `SessionStore`, and their sessions are those that programs pass to
// `run(agent, input, { session })`.

/**
 * What `open({ target })` returns. A `Session` of the SDK is one conversation, so a store hands out many.
 *
 * ```js
 * export const open = ({ target }) => {
 *   const database = connect(target);
 *   return { session: (id) => new MySession(database, id) };
 * };
 * ```
 *
 * A store in memory keeps a map of its sessions, so that the same id gets the same session:
 *
 * ```js
 * export const open = () => {
 *   const sessions = new Map();
 *   return {
 *     session(id = randomUUID()) {
 *       if (!sessions.has(id)) sessions.set(id, new MemorySession({ sessionId: id }));
 *       return sessions.get(id);
 *     },
 *   };
 * };
 * ```
 */
export interface SessionStore {
  /**
   * Returns the session with this id. Nothing needs to be stored in it. Two sessions with the same id share their items, whether the
   * same object is returned or not.
   *
   * Without an id, returns a new session: the store makes up the id, at the latest when `getSessionId` is called.
   */
  session(id?: string): Session | Promise<Session>;
}

/**
 * The interface `Session` of the SDK. The first five methods are required. The others are optional: the expectations on one that a
 * session does not have are skipped.
 */
export interface Session {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<Item[]>;
  addItems(items: Item[]): Promise<void>;
  popItem(): Promise<Item | undefined>;
  clearSession(): Promise<void>;
  replaceHistoryWithCompaction?(items: Item[]): Promise<void>;
  applyHistoryMutations?(args: { mutations: Mutation[] }): Promise<void> | void;
  applyHistoryTransaction?(args: { operationId: string; transaction: Transaction }): Promise<void> | void;
  /** Removes what the store has added to the items. The suite compares items after it, as the SDK's runner does. */
  prepareHistoryItemsForPersistenceComparison?(items: Item[]): Item[];
}

/** An `AgentInputItem` of the SDK: a message, a call, a result and so on. */
export type Item = Record<string, any>;

/** Replaces the function call with this id. */
export interface Mutation {
  type: "replace_function_call";
  callId: string;
  replacement: Item;
}

export type Transaction =
  { type: "append_items"; items: Item[] } | { type: "replace_suffix"; expectedSuffix: Item[]; replacement: Item[] };
