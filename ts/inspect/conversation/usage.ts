/** Reads the tokens of a run, and the tokens that each step added. */

import { createHash } from "node:crypto";
import { safeJson } from "../../bridge/json-form/json-text.js";
import { readRecord, whole } from "../../store/options.js";
import { listCheckpoints } from "../checkpoints.js";
import { type Context, readKey } from "../context.js";
import { mapTogether } from "../together.js";
import type { Key } from "../../plugin/wire.js";
import type { CheckpointInfo, CheckpointRef } from "../../plugin/views.js";
import { readStateOf } from "./conversation.js";
import { type ModelPrices, priceOf } from "./cost.js";
import { readEnvelope } from "./envelope.js";
import { listsIn } from "./lists.js";
import { Reader } from "./reader.js";
import { Counted, type Entry, Sum } from "./sums.js";
import type { RunUsage } from "./usage-views.js";
import { tokensIn } from "./tokens.js";

/** Limits the steps to read. */
export interface UsageOptions {
  /** Reads at most this number of newest steps. Default: all. */
  last?: number | undefined;
  /** Reads at most this size of states, in bytes, from the newest steps. Default: 256 MiB. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

const usageOptions = {
  last: whole(1, Number.MAX_SAFE_INTEGER, "steps"),
  maxBytes: whole(0, Number.MAX_SAFE_INTEGER, "bytes"),
  signal: (value: unknown) => value as AbortSignal,
};

/** The number of checkpoints in a page, and the number of states that are in memory at the same time. */
const [PAGE, AT_ONCE] = [1_000, 8];

/** Returns null if there is no such run. */
export async function readUsage(context: Context, ref: unknown, given: unknown): Promise<RunUsage | null> {
  const options = readRecord(given, "options", usageOptions);
  const key = readKey(ref);
  const { steps, complete } = await newestSteps(context, key, options);
  const [first] = steps;
  if (first === undefined) return null;
  const prices = context.prices ?? null;
  // A framework may also count the tokens of a run. They are only used if no message has tokens.
  const tracks = [new Track(isOfMessage), new Track((entry) => !isOfMessage(entry))];
  // The first step's messages from its parent. If the parent is in another run, they count there.
  const { parent, run, ns } = first;
  const isOwn = parent?.run === run && parent.ns === ns;
  const inherited = await entriesAt(context, parent);
  for (const track of tracks) track.begin(inherited, isOwn);
  for (let at = 0; at < steps.length; at += AT_ONCE) {
    const some = steps.slice(at, at + AT_ONCE);
    const read = await mapTogether(some, (each) => entriesAt(context, each), options.signal);
    for (const [index, step] of some.entries()) {
      for (const track of tracks) track.add(step, read[index]!, prices);
    }
  }
  const [messages, others] = tracks as [Track, Track];
  const track = messages.isEmpty ? others : messages;
  const total = track.total.finish(prices);
  const models = prices === null ? [] : (total?.models ?? []).flatMap(({ model }) => model ?? []);
  const unpriced = models.filter((model) => priceOf(prices!, model) === undefined);
  return { total, steps: track.steps, complete, unpriced };
}

/** Adds up some of the entries of the steps. */
class Track {
  readonly total = new Sum();
  readonly steps: RunUsage["steps"] = [];
  isEmpty = true;
  readonly #counted = new Counted();
  readonly #has: (entry: Entry) => boolean;

  constructor(has: (entry: Entry) => boolean) {
    this.#has = has;
  }

  /** Takes the entries before the first step. They are part of the total if they belong to the run. */
  begin(entries: readonly Entry[], isOwn: boolean): void {
    for (const own of this.#taken(entries)) if (isOwn) this.total.add(own);
  }

  add({ id, step }: CheckpointInfo, entries: readonly Entry[], prices: ModelPrices | null): void {
    const sum = new Sum();
    for (const own of this.#taken(entries)) {
      sum.add(own);
      this.total.add(own);
    }
    const usage = sum.finish(prices);
    if (usage !== null) this.steps.push({ id, step, usage });
  }

  *#taken(entries: readonly Entry[]): Generator<NonNullable<ReturnType<Counted["take"]>>> {
    for (const entry of entries) {
      if (!this.#has(entry)) continue;
      this.isEmpty = false;
      const own = this.#counted.take(entry);
      if (own !== null) yield own;
    }
  }
}

const isOfMessage = ({ isMessage }: Entry): boolean => isMessage;

/** Lists the newest steps within the limits, at least one, the oldest first. */
async function newestSteps(
  context: Context,
  key: Key,
  { last = Number.POSITIVE_INFINITY, maxBytes = 256 * 2 ** 20, signal }: UsageOptions,
): Promise<{ steps: CheckpointInfo[]; complete: boolean }> {
  const steps: CheckpointInfo[] = [];
  let [cursor, bytes]: [string | null, number] = [null, 0];
  do {
    signal?.throwIfAborted();
    const page = await listCheckpoints(context, key, { limit: PAGE, cursor, order: "desc" });
    for (const each of page.items) {
      bytes += each.bytes.logical;
      if (steps.length === last || (bytes > maxBytes && steps.length > 0))
        return { steps: steps.toReversed(), complete: false };
      steps.push(each);
    }
    cursor = page.cursor;
  } while (cursor !== null);
  return { steps: steps.toReversed(), complete: true };
}

/** Reads the tokens of a checkpoint's messages. Empty if the checkpoint is removed or damaged. */
async function entriesAt(context: Context, ref: CheckpointRef | null): Promise<Entry[]> {
  const state = ref && (await readStateOf(context, ref));
  return state === null ? [] : entriesIn(state.form);
}

/** Returns the tokens of a state's messages. */
export function entriesIn(form: unknown): Entry[] {
  const reader = new Reader(form);
  const entries: Entry[] = [];
  for (const { entries: messages } of listsIn(reader, form)) {
    const counts = new Map<string, number>();
    for (const message of messages) {
      const { usage: tokens, usageId, model, durationMs } = readEnvelope(reader, message);
      if (tokens !== null)
        entries.push({ key: keyOf(message, usageId, counts), model, tokens, durationMs, isMessage: true });
    }
  }
  return [...entries, ...(entries.length > 0 ? [] : responsesIn(reader, form)), ...diagnosticsIn(reader, form)];
}

/** Names a message by its id or its content. A number distinguishes equal messages of a list. */
function keyOf(message: unknown, id: string | null, counts: Map<string, number>): string {
  if (id !== null) return `id ${id}`;
  const hash = createHash("sha256").update(safeJson(message)).digest("base64");
  const count = counts.get(hash) ?? 0;
  counts.set(hash, count + 1);
  return `${hash} ${count}`;
}

/** Reads the model's answers that an SDK keeps in the state of a run. */
function responsesIn(reader: Reader, form: unknown): Entry[] {
  return reader.list(form, "modelResponses").flatMap((response, index): Entry[] => {
    const tokens = tokensIn(reader, reader.get(response, "usage"));
    if (tokens === null) return [];
    const id = reader.text(response, "responseId") ?? `response ${index}`;
    const model = reader.text(reader.get(response, "providerData"), "model");
    return [{ key: `id ${id}`, model, tokens, durationMs: null, isMessage: true }];
  });
}

/** Reads the tokens of a run if the framework counts them for the run, and not for messages. */
function diagnosticsIn(reader: Reader, form: unknown): Entry[] {
  const diagnostics = reader.get(form, "diagnostics");
  const total = reader.count(diagnostics, "totalTokensUsed");
  if (total === null || total === 0) return [];
  const tokens = { input: null, output: null, cached: null, reasoning: null, total };
  const durationMs = reader.count(diagnostics, "totalDurationMs");
  return [{ key: "diagnostics", model: null, tokens, durationMs, isMessage: false }];
}
