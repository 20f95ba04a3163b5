// Items for trials, and how they are read and compared. All are valid items of the SDK.
import assert from "node:assert/strict";
import type { Trial } from "../../suite/types.js";
import type { Item, Session, SessionStore } from "./store.js";

export const user = (content: string, more: object = {}): Item => ({ type: "message", role: "user", content, ...more });

export const call = (callId: string, args = "{}"): Item => ({
  type: "function_call",
  callId,
  name: "send_mail",
  arguments: args,
  status: "completed",
});

export const result = (callId: string, text = "sent"): Item => ({
  type: "function_call_result",
  callId,
  name: "send_mail",
  status: "completed",
  output: { type: "text", text },
});

export const answer = (text: string, more: object = {}): Item => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
  ...more,
});

/** Messages whose texts are numbers. */
export const numbered = (from: number, to: number): Item[] =>
  Array.from({ length: to - from }, (_, at) => user(`${from + at}`));

/** An item of each type that the SDK's runner adds. */
export const everyType = (): Item[] => [
  { type: "message", role: "system", content: "Be brief." },
  user("Mail Bob.", { providerData: { source: { channel: "web", tags: ["a", "b"] } } }),
  {
    type: "message",
    role: "user",
    content: [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
      { type: "input_file", file: "data:application/pdf;base64,JVBERi0=", filename: "a b.pdf" },
    ],
  },
  {
    type: "reasoning",
    id: "rs_1",
    content: [{ type: "input_text", text: "Bob needs a mail." }],
    rawContent: [{ type: "reasoning_text", text: "…" }],
    providerData: { encrypted_content: "gAAAA==" },
  },
  { ...call("call_1", '{"to": "bob"}'), id: "fc_1", providerData: { model: "gpt" } },
  result("call_1"),
  {
    type: "hosted_tool_call",
    id: "ws_1",
    name: "web_search_call",
    status: "completed",
    providerData: { query: "Bob" },
  },
  { type: "unknown", providerData: { type: "of_tomorrow", list: [1, { deep: true }] } },
  answer("Done.", { id: "msg_1", providerData: { phase: "final" } }),
];

/** Opens the session `id` of the trial's store. */
export async function sessionOf(trial: Trial<SessionStore>, id = "s", items: Item[] = []): Promise<Session> {
  const session = await (await trial.store()).session(id);
  if (items.length > 0) await session.addItems(structuredClone(items));
  return session;
}

/** Opens the session `id` after the store has been closed and opened again. */
export async function reopened(trial: Trial<SessionStore>, id = "s"): Promise<Session> {
  return await (await trial.reopen()).session(id);
}

/** Returns items as the runner compares them: without what the store has added, and as JSON. */
export function comparable(session: Session, items: Item[]): Item[] {
  assert.ok(Array.isArray(items), `getItems must return an array, but returned ${items}`);
  const prepared = session.prepareHistoryItemsForPersistenceComparison?.(structuredClone(items)) ?? items;
  return JSON.parse(JSON.stringify(prepared));
}

/** Checks all items of a session. */
export async function has(session: Session, expected: Item[], message?: string): Promise<void> {
  const actual = comparable(session, await session.getItems());
  const wanted = comparable(session, expected);
  if (message === undefined) assert.deepEqual(actual, wanted);
  else assert.deepEqual(actual, wanted, message);
}

/** Adds items and expects them back. */
export async function keeps(trial: Trial<SessionStore>, items: Item[], message?: string): Promise<void> {
  await has(await sessionOf(trial, "s", items), items, message);
}

/** Returns the text of a message. */
export const textOf = (item: Item | undefined): unknown =>
  typeof item?.["content"] === "string" ? item["content"] : item?.["content"]?.[0]?.text;

/** Returns the texts of a session's messages. */
export const texts = async (session: Session, limit?: number): Promise<unknown[]> =>
  (limit === undefined ? await session.getItems() : await session.getItems(limit)).map(textOf);

/** Checks the texts of all items of a session. */
export async function reads(session: Session, expected: string[], message?: string): Promise<void> {
  const actual = await texts(session);
  if (message === undefined) assert.deepEqual(actual, expected);
  else assert.deepEqual(actual, expected, message);
}

/** Checks that `all` are whole calls of `size` items whose texts are `<call>:<number>`, with nothing in between. */
export function areBlocks(all: unknown[], size: number): void {
  for (let at = 0; at < all.length; at += size) {
    const name = `${all[at]}`.split(":").slice(0, -1).join(":");
    const expected = Array.from({ length: size }, (_, n) => `${name}:${n}`);
    assert.deepEqual(all.slice(at, at + size), expected, `the items of ${name} are not together, or not all there`);
  }
}

/** The items of one call, for `areBlocks`. */
export const block = (name: string, size: number): Item[] =>
  Array.from({ length: size }, (_, n) => user(`${name}:${n}`));
