/** Reads an answer from the text of its stream, as the SDK does. The SDK is an optional peer, and an ES module. */

import { ForkpointError } from "../../bridge/errors.js";
import { missingPeer } from "../../bridge/peer.js";
import type { ChatMessage } from "./contract.js";

/** The part of the module `ai` that reads an answer. */
export interface AiModule {
  readUIMessageStream(options: any): AsyncIterable<any>;
}

/** A chunk of an answer. Only some fields matter here. */
export interface Chunk {
  type: string;
  messageId?: unknown;
  [field: string]: unknown;
}

let found: Promise<AiModule> | undefined;

/** Returns the installed SDK. */
export function installedSdk(): Promise<AiModule> {
  found ??= load().catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

/** Bundlers do not follow the name, so that a bundle of other contracts does not contain the SDK. */
async function load(name = "ai"): Promise<AiModule> {
  let sdk: unknown;
  try {
    sdk = await import(/* webpackIgnore: true */ name);
  } catch (error) {
    throw missingPeer(
      "stop() or partialMessage() of forkpoint/ai",
      "ai",
      error,
      ", or pass the module as the option `ai`",
    );
  }
  if (isSdk(sdk as object)) return sdk as AiModule;
  throw new ForkpointError("UNSUPPORTED", "this version of ai has no readUIMessageStream: install ai@7");
}

const isSdk = (sdk: Partial<AiModule> | null): sdk is AiModule => typeof sdk?.readUIMessageStream === "function";

/** The fields of the chunks that only add text. */
const ADDED: Partial<Record<string, string>> = {
  "text-delta": "delta",
  "reasoning-delta": "delta",
  "tool-input-delta": "inputTextDelta",
};

/**
 * Reads the chunks in the text of a stream: server-sent events with JSON. An event that is not complete is left out. The
 * SDK's own parser takes 30 times longer.
 */
export function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = [];
  for (const event of text.split(/\r?\n\r?\n/).slice(0, -1)) {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    const chunk = jsonOf(lines.map((line) => line.slice("data:".length)).join("\n"));
    if (typeof (chunk as Chunk | null)?.type === "string") add(chunks, chunk as Chunk);
  }
  return chunks;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Adds a chunk. Joins it to the chunk before if both only add text, because the SDK copies the message for each one. */
function add(chunks: Chunk[], chunk: Chunk): void {
  const before = chunks.at(-1);
  const field = ADDED[chunk.type];
  const isMore =
    field !== undefined &&
    before?.type === chunk.type &&
    before["id"] === chunk["id"] &&
    before["toolCallId"] === chunk["toolCallId"];
  if (!isMore || typeof before[field] !== "string" || typeof chunk[field] !== "string") return void chunks.push(chunk);
  before[field] += chunk[field];
  if (chunk["providerMetadata"] !== undefined) before["providerMetadata"] = chunk["providerMetadata"];
}

/** The id of the answer, if its stream says it. */
export function startOf(chunks: readonly Chunk[]): string | undefined {
  const id = chunks.find(({ type }) => type === "start")?.messageId;
  return typeof id === "string" ? id : undefined;
}

/** Makes the message of the chunks. `base` is the message that they may continue, and is changed. Null: there is none. */
export async function messageOf(
  sdk: AiModule,
  chunks: readonly Chunk[],
  base: ChatMessage | undefined,
): Promise<ChatMessage | null> {
  let message: ChatMessage | null = null;
  // A chunk that does not fit ends the message.
  const options = { message: base, stream: ReadableStream.from(chunks), onError: () => {} };
  for await (const each of sdk.readUIMessageStream(options)) message = each as ChatMessage;
  return message;
}
