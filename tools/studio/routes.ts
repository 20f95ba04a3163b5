/** The read routes. Each calls the inspector. */

import { quote } from "../../ts/bridge/errors.js";
import { isWithin, safeJsonPieces } from "../../ts/bridge/json-form/json-text.js";
import { parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { hasMessages } from "../../ts/inspect/conversation/lists.js";
import { statuses } from "../../ts/inspect/runs.js";
import {
  MAX_ANSWER,
  MAX_CHANGES,
  fitting,
  shortChanges,
  shortCheckpoint,
  shortDetail,
  shortEffect,
  shortRun,
  sizeOf,
} from "./answers.js";
import { conversation, usage } from "./conversation.js";
import { course } from "./course.js";
import type { Query } from "./query.js";
import { Refusal, invalid } from "./refusal.js";
import { search } from "./search.js";
import { questions } from "./questions.js";
import type { RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** `signal` aborts when the client disconnects. */
type Route = (inspector: Inspector, query: Query, signal: AbortSignal) => Promise<unknown>;

/** The routes that answer with JSON, by their path below `/api/v1/`. */
export const routes: Record<string, Route> = {
  info: (inspector) => inspector.info(),
  runs,
  run,
  course,
  checkpoint,
  conversation,
  usage,
  effect,
  questions,
  diff,
  search: searched,
  stats: (inspector, query) => inspector.stats({ largest: query.whole("largest", 0, 1_000) ?? 10 }),
  activity: async (inspector) => ({ hours: await inspector.activity() }),
};

const parts = ["state", "rest", "writes"] as const;

/** Lists runs. `of` lists some runs, for example those of the visible rows. */
async function runs(inspector: Inspector, query: Query): Promise<unknown> {
  const [withWhy, withBytes] = [query.flag("withWhy", true), query.flag("withBytes", false)];
  const withStranded = true;
  const of = query.refs("of");
  if (of !== undefined) {
    const found = await Promise.all(of.map((ref) => inspector.run(ref, { withWhy, withBytes, withStranded })));
    return { runs: found.map((info) => info && shortRun(info)), cursor: null };
  }
  const asked = {
    space: query.filter("space"),
    group: query.filter("group"),
    match: query.filter("match"),
    status: query.oneOf("status", statuses),
    label: query.labels("label"),
    version: query.filter("version"),
    since: query.whole("since", 0, Number.MAX_SAFE_INTEGER),
    sort: query.oneOf("sort", ["active", "began", "size"]),
    cursor: query.filter("cursor"),
    ns: query.get("ns") ?? undefined,
    allNs: query.flag("allNs", false),
    maxMs: query.whole("maxMs", 1, Number.MAX_SAFE_INTEGER),
    stranded: query.flag("stranded", false),
    withWhy,
    withBytes,
    withStranded,
  };
  return inPages(query.whole("limit", 1, 1_000) ?? 20, async (limit) => {
    const { items, cursor } = await inspector.runs({ ...asked, limit });
    return { runs: items.map(shortRun), cursor };
  });
}

/** Requests shorter pages until the answer is small enough. */
async function inPages<T>(limit: number, ask: (limit: number) => Promise<T>): Promise<T> {
  const page = await ask(limit);
  if (limit === 1 || sizeOf(page) <= MAX_ANSWER) return page;
  return inPages(Math.ceil(limit / 4), ask);
}

async function run(inspector: Inspector, query: Query): Promise<unknown> {
  const ref = query.run();
  const info = await inspector.run(ref, { withWhy: true, withBytes: true, withStranded: true });
  if (info === null) throw noRun(ref);
  const all = await inspector.forks(ref);
  const forks = fitting(all.map(shortRun), MAX_ANSWER / 4);
  // The newest effects, without their results.
  const effects = fitting((await inspector.effects(ref)).toReversed(), MAX_ANSWER / 4);
  const cursor = query.filter("cursor") ?? null;
  return inPages(query.whole("limit", 1, 1_000) ?? 100, async (limit) => {
    const page = await inspector.checkpoints(ref, { limit, cursor, order: "desc" });
    const checkpoints = page.items.map(shortCheckpoint);
    const moreForks = all.length - forks.length;
    return { run: shortRun(info), checkpoints, forks, moreForks, effects, cursor: page.cursor };
  });
}

async function checkpoint(inspector: Inspector, query: Query): Promise<unknown> {
  const [depth, items] = [query.whole("depth", 0, 100), query.whole("items", 1, 10_000)];
  const [part, path] = [query.oneOf("part", parts) ?? "state", query.filter("path")];
  const detail = await theCheckpoint(inspector, query);
  const short = shortDetail(detail, { depth, items, part, path });
  if (short === null) throw nothingAt(path!, part);
  return path === undefined ? { ...short, hasMessages: hasMessages(detail.state) } : short;
}

/** An effect with its result, which may be cut. */
async function effect(inspector: Inspector, query: Query): Promise<unknown> {
  const [ref, key] = [query.run(), query.needed("key")];
  const found = await inspector.effect({ ...ref, key, branch: query.whole("branch", 0, 2 ** 32 - 1) });
  if (found !== null) return shortEffect(found);
  throw new Refusal(404, "NOT_FOUND", `the run ${quote(ref.run)} has no effect ${quote(key)}: reload the run`);
}

async function searched(inspector: Inspector, query: Query): Promise<unknown> {
  const text = query.needed("text");
  if (text === "") throw invalid('the parameter "text" is empty');
  const part = query.oneOf("part", parts) ?? "state";
  return search((await theCheckpoint(inspector, query))[part], text);
}

/** Returns the complete JSON text of the state, or of the value at `path`, in pieces. */
export async function raw(inspector: Inspector, query: Query): Promise<Iterable<string>> {
  const [part, path] = [query.oneOf("part", parts) ?? "state", query.filter("path")];
  const detail = await theCheckpoint(inspector, query);
  const value = path === undefined ? detail[part] : valueAt(detail[part], parsePath(path));
  if (value === undefined) throw nothingAt(path!, part);
  return indented(value);
}

/**
 * Writes indented JSON. Deep and large values are written on one line, because the indent of deep values grows with the
 * square of the depth.
 */
function* indented(form: unknown): Generator<string> {
  if (isWithin(form, INDENTED) && !isDeeper(form, DEEPEST_INDENT)) yield JSON.stringify(form, null, 2);
  else yield* safeJsonPieces(form);
  yield "\n";
}

/** The limits of indented JSON. */
const INDENTED = { values: 1_000_000, characters: 16 * 2 ** 20 };

/** The depth at which JSON is no longer indented. */
const DEEPEST_INDENT = 100;

function isDeeper(root: unknown, most: number): boolean {
  const stack = [{ value: root, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    if (depth === most) return true;
    for (const each of Object.values(value)) stack.push({ value: each, depth: depth + 1 });
  }
  return false;
}

function nothingAt(path: string, part: string): Refusal {
  return new Refusal(404, "NOT_FOUND", `there is nothing at ${quote(path)} in the ${part} of this checkpoint`);
}

async function theCheckpoint(inspector: Inspector, query: Query) {
  const ref = query.run();
  const id = query.filter("id");
  const step = query.whole("step", -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return found(inspector, { ...ref, id, ...(id === undefined && step !== undefined && { step }) });
}

/** Returns a checkpoint. 404: there is no such run. 410: the run exists, but the checkpoint doesn't. */
async function found(inspector: Inspector, ref: RunRef & { id?: string | undefined; step?: number }) {
  const detail = await inspector.checkpoint(ref);
  if (detail !== null) return detail;
  if ((await inspector.run(ref)) === null) throw noRun(ref);
  const which = ref.id === undefined ? `step ${ref.step ?? -1}` : `checkpoint ${quote(ref.id)}`;
  throw new Refusal(410, "NOT_FOUND", `${which} of the run ${quote(ref.run)} doesn't exist: reload the run`);
}

function noRun({ space, run, ns }: RunRef): Refusal {
  const where = ns ? ` with the namespace ${quote(ns)}` : "";
  return new Refusal(
    404,
    "NOT_FOUND",
    `there is no run ${quote(run)}${where} in ${quote(space)}: reload the list of runs`,
  );
}

/** Like `forkpoint diff`: without `from`, compares with the parent; without both, the newest checkpoint. */
async function diff(inspector: Inspector, query: Query): Promise<unknown> {
  const ref = query.run();
  const [first, second] = [query.filter("from"), query.filter("to")];
  const part = query.oneOf("part", parts);
  const elsewhere = query.get("toRun") !== null;
  const target = elsewhere
    ? { space: query.get("toSpace") ?? ref.space, run: query.needed("toRun"), ns: query.get("toNs") }
    : ref;
  const { checkpoint: to } = await found(inspector, { ...target, id: second ?? (elsewhere ? undefined : first) });
  const from = second === undefined && !elsewhere ? to.parent : first === undefined ? to.parent : { ...ref, id: first };
  const before = from === null ? null : await inspector.checkpoint(from);
  if (from !== null && before === null && from !== to.parent) await found(inspector, from);
  const options = { limit: MAX_CHANGES + 1, ...(part !== undefined && { parts: [part] }) };
  const { changes, truncated } = await inspector.diff(before && before.checkpoint, to, options);
  const short = shortChanges(changes, MAX_CHANGES);
  return {
    from: before === null ? null : shortCheckpoint(before.checkpoint),
    to: shortCheckpoint(to),
    changes: short.changes,
    truncated: truncated || short.truncated,
  };
}
