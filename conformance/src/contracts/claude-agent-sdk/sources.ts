// Where expectations come from.

export const guide = "documented: https://code.claude.com/docs/en/agent-sdk/session-storage";

/** The documentation of a type in `sdk.d.ts`. */
export const type = (of: string) => `documented: the type ${of} of @anthropic-ai/claude-agent-sdk` as const;

export const append = type("SessionStore.append");
export const load = type("SessionStore.load");
export const listSessions = type("SessionStore.listSessions");
export const listSummaries = type("SessionStore.listSessionSummaries");
export const listSubkeys = type("SessionStore.listSubkeys");
export const sessionKey = type("SessionKey");
export const entry = type("SessionStoreEntry");
export const summary = type("SessionSummaryEntry");
export const fold = type("foldSessionSummary");

/** Anthropic publishes thirteen tests to copy. This is what they say, not their text. */
export const suite =
  "documented: the thirteen tests of examples/session-stores/shared/conformance.ts in anthropics/claude-agent-sdk-typescript";
