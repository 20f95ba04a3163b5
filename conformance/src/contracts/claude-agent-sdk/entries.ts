// What expectations have in common.
import assert from "node:assert/strict";
import { NotOffered } from "../../suite/not-offered.js";
import type { Entry, Key, Store } from "./store.js";

/** A UUID that ends with a number. */
export const uuidOf = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

export const project = "-home-ada-agent";
/** The transcript that most expectations use. */
export const key: Key = { projectKey: project, sessionId: uuidOf(0xada) };
export const another: Key = { projectKey: project, sessionId: uuidOf(0xbee) };
/** The transcript of a subagent. */
export const sub = (name = "a1", of: Key = key): Key => ({ ...of, subpath: `subagents/agent-${name}` });

/** An entry with a `uuid`, as the agent writes it. */
export function message(n: number, more: Partial<Entry> = {}): Entry {
  return { type: n % 2 === 0 ? "user" : "assistant", uuid: uuidOf(n), message: { content: `message ${n}` }, ...more };
}

/** `count` messages, numbered from `from`. */
export const messages = (count: number, from = 0) => Array.from({ length: count }, (_, n) => message(from + n));

/** An entry without a `uuid`. */
export const title = (customTitle: string): Entry => ({ type: "custom-title", customTitle });

/** Fails if a transcript has other entries, or the same ones in another order. */
export async function has(store: Store, of: Key, expected: Entry[] | null, why?: string): Promise<void> {
  const found = await store.load(of);
  if (found?.length !== expected?.length)
    assert.fail(
      `${why ?? "the transcript has other entries"}: load returned ${found ? `${found.length} entries` : found} ` +
        `and not ${expected ? expected.length : expected}`,
    );
  // Without a message, the difference is shown.
  if (why === undefined) assert.deepEqual(found, expected);
  else assert.deepEqual(found, expected, why);
}

/** Returns an optional method. The expectation is skipped if the store has none. */
export function method<Name extends "listSessions" | "listSessionSummaries" | "delete" | "listSubkeys">(
  store: Store,
  name: Name,
): NonNullable<Store[Name]> {
  const found = store[name];
  if (found === undefined) throw new NotOffered(`the store has no ${name}, which is optional`);
  return found.bind(store) as NonNullable<Store[Name]>;
}

/** The ids of a project's sessions, sorted. */
export async function idsOf(store: Store, projectKey = project): Promise<string[]> {
  const listed = await method(store, "listSessions")(projectKey);
  return listed.map(({ sessionId }) => sessionId).toSorted();
}

/** The `mtime` that `listSessions` gives. */
export async function mtimeOf(store: Store, { projectKey, sessionId }: Key = key): Promise<number> {
  const found = (await method(store, "listSessions")(projectKey)).find((one) => one.sessionId === sessionId);
  assert.ok(found, "listSessions does not list the session");
  return found.mtime;
}

/** The subpaths of a session, sorted. */
export async function subpathsOf(store: Store, of: Key = key): Promise<string[]> {
  const { projectKey, sessionId } = of;
  return (await method(store, "listSubkeys")({ projectKey, sessionId })).toSorted();
}

/** The summary that `listSessionSummaries` gives. */
export async function summaryOf(store: Store, { projectKey, sessionId }: Key = key) {
  const all = await method(store, "listSessionSummaries")(projectKey);
  const found = all.filter((one) => one.sessionId === sessionId);
  assert.equal(found.length, 1, `listSessionSummaries gives ${found.length} summaries of the session`);
  return found[0]!;
}
