import {
  type FoldSessionSummary,
  type SessionKey,
  SessionStore,
  type SessionStoreEntry,
  type SessionStoreOptions,
} from "forkpoint/claude-agent-sdk";
import { expect } from "vitest";
import { type Kind, checkedAfter, place } from "../helpers.js";

export const key: SessionKey = { projectKey: "-work", sessionId: "s" };

/** A function in the place of the SDK's: the summary holds the types of all entries and the last title. */
export const fold: FoldSessionSummary = (previous, { sessionId }, entries, { mtime = 0 } = {}) => {
  const { types = [], title = null } = (previous?.data ?? {}) as { types?: string[]; title?: unknown };
  const titles = entries.filter((entry) => "title" in entry).map((entry) => entry["title"]);
  return {
    sessionId,
    mtime,
    data: { types: [...types, ...entries.map(({ type }) => type)], title: titles.at(-1) ?? title },
  };
};

/** Opens a store on a target. When the running test ends, the database must be undamaged, and the store is closed. */
export function at(
  target: ConstructorParameters<typeof SessionStore>[0],
  options: SessionStoreOptions = { foldSessionSummary: fold },
): SessionStore {
  return checkedAfter(new SessionStore(target, options));
}

export const make = (kind: Kind, options?: SessionStoreOptions): SessionStore => at(place(kind), options);

/** Makes entries with the uuids "u0", "u1" and so on. */
export function entries(count: number, from = 0): SessionStoreEntry[] {
  return Array.from({ length: count }, (_, at) => ({
    type: `t${from + at}`,
    uuid: `u${from + at}`,
    text: "é".repeat(at),
  }));
}

/** The types of the entries of a transcript. */
export async function typesOf(store: SessionStore, of: SessionKey = key): Promise<string[] | undefined> {
  return (await store.load(of))?.map(({ type }) => type);
}

/** The only summary of the project, and the `mtime` of its session. */
export async function summaryOf(store: SessionStore, projectKey = key.projectKey) {
  const [[summary], [session]] = await Promise.all([
    store.listSessionSummaries!(projectKey),
    store.listSessions(projectKey),
  ]);
  expect(summary?.mtime).toBe(session?.mtime);
  return summary?.data;
}
