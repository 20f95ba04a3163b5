/** Reads the arguments and options of `ForkpointChats`. */

import { typeError } from "../../bridge/errors.js";
import { nonEmpty, text } from "../../store/ids.js";
import { ttlOption } from "../../store/lease.js";
import { type OptionParser, type StoreOptions, anything, atMost, signalOption, whole } from "../../store/options.js";
import { metadataOption } from "./metadata.js";
import type { AiModule } from "./sdk.js";

export interface ForkpointChatsOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes"> {
  /** The number of newest versions to keep of a chat. 0 and 1: only the newest. Default: all. */
  keepVersions?: number | null;
  /** How long a chat is kept after its last change, in ms. Older ones are removed in the background. Default: no limit. */
  ttlMs?: number | null;
  /** As `ttlMs`, for chats that wait for an approval: at least `ttlMs`. Default: until it is answered. */
  waitingTtlMs?: number | null;
  /** A stream has ended after its maker has sent no sign of life for this time, in ms. Default: 10,000. */
  makerTtlMs?: number;
  /**
   * The SDK. `stop` and `partialMessage` read answers with it. Pass it if your program is bundled. Default: the
   * installed `ai`.
   */
  ai?: AiModule;
}

/** `sdk.ts` loads the SDK, and is itself loaded on first use. */
function sdkOption(given: unknown, name: string): AiModule {
  if (typeof (given as Partial<AiModule> | null)?.readUIMessageStream === "function") return given as AiModule;
  throw typeError(`${name} must be the module ai: import * as ai from "ai"`);
}

const keepOption = (value: unknown, name: string): number | null =>
  value === null || value === Number.POSITIVE_INFINITY
    ? null
    : Math.max(1, whole(0, Number.MAX_SAFE_INTEGER, "versions")(value, name));

export const ownOptions = {
  keepVersions: keepOption,
  ttlMs: atMost("milliseconds"),
  waitingTtlMs: atMost("milliseconds"),
  makerTtlMs: ttlOption,
  ai: sdkOption,
};

/** Reads the id of a chat or a stream. Any text is allowed, because no path or pattern is made of it. */
export const idOption: OptionParser<string> = (value, name) => {
  const id = nonEmpty(value, name);
  if (id.includes("\0")) throw typeError(`${name} contains a NUL character: use another id`);
  return id;
};

export const version = whole(1, Number.MAX_SAFE_INTEGER, "versions");
export const limit = whole(1, 100_000, "entries");
export const characters = whole(0, Number.MAX_SAFE_INTEGER, "characters");

export const createFields = { id: idOption, metadata: metadataOption };

export const saveFields = {
  chatId: idOption,
  id: idOption,
  messages: anything,
  activeStreamId: (value: unknown, name: string) => (value === null ? null : idOption(value, name)),
  endedStreamId: idOption,
  metadata: metadataOption,
  expectedVersion: whole(0, Number.MAX_SAFE_INTEGER, "versions"),
};

export const stopOptions = {
  by: text,
  reason: text,
  waitMs: whole(0, 2 ** 31 - 1, "milliseconds"),
  signal: signalOption,
};
