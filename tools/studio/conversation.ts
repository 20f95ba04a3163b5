/** The routes of conversations and tokens. */

import { MAX_ANSWER, fitting } from "./answers.js";
import type { Query } from "./query.js";
import { Refusal } from "./refusal.js";
import { shortConversation } from "./short-conversation.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { Conversation } from "../../ts/inspect/conversation/message.js";
import { readUsages } from "../../ts/inspect/conversation/usage-order.js";
import type { RunUsage } from "../../ts/inspect/conversation/usage-views.js";
import type { RunTokens, UsagesAnswer } from "./usage-answer.js";
import type { RunRef } from "../../ts/plugin/views.js";

/** The maximum length of a message's text in an answer, in characters. */
const MOST_TEXT = 400_000;

/** Limits the reads for a run's tokens: the number of newest steps, and the bytes of their states. */
const USAGE = { last: 1_000, maxBytes: 32 * 2 ** 20 };

const gone = () => new Refusal(404, "NOT_FOUND", "there is no such run or checkpoint: reload the list of runs");

/** Answers a page of messages. */
export async function conversation(inspector: Inspector, query: Query): Promise<Conversation> {
  const step = query.whole("step", -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const id = query.filter("id");
  const from = query.whole("from", -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const found = await inspector.conversation(
    { ...query.run(), id, ...(id === undefined && step !== undefined && { step }) },
    { list: query.get("list") ?? undefined, from, limit: query.whole("limit", 1, 1_000) ?? 50 },
  );
  if (found === null) throw gone();
  return shortConversation(found, from, query.whole("text", 1, MOST_TEXT));
}

/** Answers the tokens of a run and its newest steps. `of` lists several runs, for example those of the visible rows. */
export async function usage(inspector: Inspector, query: Query, signal: AbortSignal): Promise<RunUsage | UsagesAnswer> {
  const of = query.refs("of");
  if (of !== undefined) return usages(inspector, of, query.whole("maxMs", 1, Number.MAX_SAFE_INTEGER), signal);
  const found = await usageOf(inspector, query.run());
  if (found === null) throw gone();
  return found;
}

/** Answers the tokens of the first runs: as many as can be read in `maxMs`, but at least one. */
async function usages(
  inspector: Inspector,
  of: readonly RunRef[],
  maxMs = Number.POSITIVE_INFINITY,
  signal: AbortSignal,
): Promise<UsagesAnswer> {
  const end = performance.now() + maxMs;
  const found: UsagesAnswer["usages"] = [];
  for await (const each of readUsages(of, (ref) => inspector.usage(ref, { ...USAGE, signal }))) {
    found.push(each && withoutSteps(each));
    if (performance.now() > end) break;
  }
  return { usages: found };
}

const withoutSteps = ({ total, complete, unpriced }: RunUsage): RunTokens => ({
  total: total && { ...total, models: [] },
  complete,
  unpriced: fitting(unpriced, MAX_ANSWER / 128),
});

/** Reads the tokens of a run for the page. */
export async function usageOf(inspector: Inspector, ref: RunRef): Promise<RunUsage | null> {
  const found = await inspector.usage(ref, USAGE);
  if (found === null) return null;
  // Leave out the models of a step, because the page only shows those of the run.
  const steps = found.steps.toReversed().map(({ id, step, usage }) => ({ id, step, usage: { ...usage, models: [] } }));
  const total = found.total && { ...found.total, models: fitting(found.total.models, MAX_ANSWER / 8) };
  const unpriced = fitting(found.unpriced, MAX_ANSWER / 16);
  return { ...found, total, unpriced, steps: fitting(steps, MAX_ANSWER / 2).toReversed() };
}
