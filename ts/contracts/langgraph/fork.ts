/**
 * Forks a checkpoint of LangGraph: makes a branch in the same thread, or in a copy of the thread. An edit replaces the
 * values of channels. No reducer runs. The same nodes run next.
 */

import { isDeepStrictEqual } from "node:util";
import { ForkpointError, quote } from "../../bridge/errors.js";
import { lostInJson } from "../../bridge/exact-json.js";
import { fromJsonForm, shownForm } from "../../bridge/json-form/to-json-form.js";
import type { Part } from "../../bridge/wire.js";
import type { Context } from "../../plugin/context.js";
import type { Fork } from "../../plugin/fork.js";
import { everyRow, newestOf, readPages } from "../../plugin/pages.js";
import { readValue } from "../../plugin/values.js";
import type { CheckpointRef } from "../../plugin/views.js";
import type { Key } from "../../plugin/wire.js";
import { copyEffects } from "../../store/effect-copies.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { laterUuid } from "./uuid6.js";
import { channelOf } from "./values.js";
import { type Found, langgraph, openFound } from "./wire.js";
import { type Pieces, copyWrites, putCheckpoint } from "./writing.js";

/** The fields of a checkpoint that a fork changes. */
interface Rest {
  id: string;
  ts: string;
  channel_versions: Record<string, number | string>;
}

export async function forkBranch(plan: Fork): Promise<CheckpointRef> {
  const { context, key, row, as, dryRun } = plan;
  const { header } = await foundAt(context, key, row.id);
  const { parts, rest } = edit(plan);
  const id = laterUuid(row.id, Date.now());
  const metadata = Buffer.from(JSON.stringify(forkMetadata(context, plan)));
  const to = { ...key, run: as ?? key.run };
  if (dryRun) return plan.refTo(to.run, id);
  if (as !== undefined) await copyAncestors(context, key, to, row.id);
  const whole = { ...rest, id, ts: new Date().toISOString() };
  // The branch belongs to the same program. No node has made it, and the same nodes run next.
  const { nodes, ...source } = decodeMark(header.mark);
  const next = nodes?.next && { nodes: { ran: [], next: nodes.next } };
  const mark = encodeMark({ ...source, ...next, by: undefined, imported: undefined, branch: true });
  const restPart = { name: "", tag: "json", bytes: Buffer.from(JSON.stringify(whole)) };
  await put(context, to, id, row.id, {
    parts: [restPart, ...parts],
    metadata: { tag: "json", bytes: metadata },
    mark,
    dependsOnParent: header.dependsOnParent,
    status: header.status,
  });
  return plan.refTo(to.run, id);
}

/** Stores a checkpoint of a thread. The pending writes of its parent stay pending. */
async function put(
  { engine }: Context,
  { run: threadId, ns: namespace }: Key,
  id: string,
  parent: string | null,
  pieces: Omit<Pieces, "inherit" | "like">,
): Promise<void> {
  const whole = { ...pieces, inherit: [], like: [] };
  await putCheckpoint(
    engine.native,
    { threadId, namespace, id },
    parent ?? undefined,
    whole,
    { claims: false },
    "copy",
  );
}

async function foundAt({ engine }: Context, { run: threadId, ns: namespace }: Key, id: string): Promise<Found> {
  const found = await langgraph.find(engine.native, "get", { threadId, namespace, id }, openFound);
  if (found !== null) return found;
  throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} has no checkpoint ${quote(id)} any more`);
}

/** Returns the metadata of the fork, as `graph.updateState` would write it. */
function forkMetadata(context: Context, { row }: Fork): Record<string, unknown> {
  const read = row.metadata === null ? null : readValue(context, row.metadata).value;
  const { step = -1, parents = {} } = (typeof read === "object" && read !== null ? read : {}) as {
    step?: number;
    parents?: object;
  };
  return { source: "fork", step: step + 1, parents };
}

/** Returns the channels of the fork, and the rest with the new versions of the edited channels. */
function edit({ context, row, found, values, edit: change }: Fork): { parts: Part[]; rest: Rest } {
  const restStored = found.parts.find(({ name }) => channelOf(name) === undefined);
  const read = restStored && readValue(context, restStored);
  if (read === undefined || !read.readable || typeof read.value !== "object" || read.value === null) {
    throw new ForkpointError(
      "UNSUPPORTED",
      `checkpoint ${quote(row.id)} was not written by LangGraph.js in plain JSON`,
    );
  }
  const rest = read.value as Rest;
  const parts = found.parts.filter((each) => each !== restStored);
  if (change === undefined) return { parts, rest };
  const { state } = values();
  const [before, after] = [shownForm(state) as Record<string, unknown>, change(state)];
  if (typeof after !== "object" || after === null || Array.isArray(after)) {
    throw new ForkpointError("INVALID_ARGUMENT", "the state of a graph is an object with a key for each channel");
  }
  return withChannels(rest, parts, before, after as Record<string, unknown>);
}

function withChannels(
  rest: Rest,
  parts: Part[],
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): { parts: Part[]; rest: Rest } {
  const versions = Object.values(rest.channel_versions ?? {});
  if (versions.some((version) => typeof version !== "number")) {
    throw new ForkpointError("UNSUPPORTED", "the channel versions are not numbers, so the next version is unknown");
  }
  const version = Math.max(0, ...(versions as number[])) + 1;
  const next: Rest = { ...rest, channel_versions: { ...rest.channel_versions } };
  const kept = new Map(parts.map((each) => [channelOf(each.name)!, each]));
  for (const channel of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (Object.hasOwn(before, channel) && Object.hasOwn(after, channel)) {
      if (isDeepStrictEqual(before[channel], after[channel])) continue;
    } else if (!kept.has(channel) && Object.hasOwn(rest.channel_versions, channel)) {
      const why = "its value is built from the writes of earlier checkpoints, so it cannot be set";
      throw new ForkpointError("UNSUPPORTED", `channel ${quote(channel)}: ${why}`);
    }
    kept.delete(channel);
    next.channel_versions[channel] = version;
    if (Object.hasOwn(after, channel)) kept.set(channel, channelPart(channel, version, after[channel]));
  }
  return { parts: [...kept.values()], rest: next };
}

/** Makes a part as plain JSON, which LangGraph's serializer reads. */
function channelPart(channel: string, version: number, form: unknown): Part {
  const value = fromJsonForm(form);
  const lost = lostInJson(value, channel);
  if (lost !== undefined) {
    throw new ForkpointError(
      "UNSUPPORTED",
      `${lost}, which LangGraph's JSON cannot hold: pass plain JSON for the channel`,
    );
  }
  return { name: `${channel}\0${version}`, tag: "json", bytes: Buffer.from(JSON.stringify(value)) };
}

/** Copies a checkpoint with its ancestors and their writes to a new thread. */
async function copyAncestors(context: Context, from: Key, to: Key, id: string): Promise<void> {
  const [there] = await readPages(context, [newestOf(to)]);
  if (there!.checkpoints > 0) {
    throw new ForkpointError("CONFLICT", `thread ${quote(to.run)} already exists: use another name`);
  }
  const parents = new Map<string, string | null>();
  for await (const row of everyRow(context, from)) parents.set(row.id, row.parent?.id ?? null);
  const chain: string[] = [];
  for (let next: string | null = id; next !== null && parents.has(next) && !chain.includes(next);) {
    chain.push(next);
    next = parents.get(next) ?? null;
  }
  for (const each of chain.toReversed()) {
    const { header, parts, writes } = await foundAt(context, from, each);
    const { parent, metadata, mark, dependsOnParent, status } = header;
    await put(context, to, each, parent, { parts, metadata, mark, dependsOnParent, status });
    // Leave out the writes claimed by a checkpoint outside of the copied chain.
    const kept = writes.filter(({ claimedBy }) => claimedBy === null || chain.includes(claimedBy));
    await copyWrites(context.engine.native, { threadId: to.run, namespace: to.ns, id: each }, kept);
  }
  await copyEffects(context.engine.native, from, to, { before: id, keepsIds: true });
}
