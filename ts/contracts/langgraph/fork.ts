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
import { type Rest, contentOf, foundAt, put, storeBranch } from "./branch.js";
import { laterUuid } from "./uuid6.js";
import { channelOf } from "./values.js";
import { copyWrites } from "./writing.js";

export async function forkBranch(plan: Fork): Promise<CheckpointRef> {
  const { context, key, row, as, dryRun } = plan;
  const { header } = await foundAt(context.engine, key, row.id);
  const edited = edit(plan);
  const id = laterUuid(row.id, Date.now());
  const to = { ...key, run: as ?? key.run };
  if (dryRun) return plan.refTo(to.run, id);
  if (as !== undefined) await copyAncestors(context, key, to, row.id);
  await storeBranch(context.engine, to, id, header, edited, readValue(context, header.metadata).value);
  return plan.refTo(to.run, id);
}

/** Returns the channels of the fork, and the rest with the new versions of the edited channels. */
function edit({ context, row, found, values, edit: change }: Fork): { parts: Part[]; rest: Rest } {
  const { parts, rest } = contentOf(found.parts, row.id, (part) => readValue(context, part));
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
    const { header, parts, writes } = await foundAt(context.engine, from, each);
    const { parent, metadata, mark, dependsOnParent, status } = header;
    await put(context.engine, to, each, parent, { parts, metadata, mark, dependsOnParent, status });
    // Leave out the writes claimed by a checkpoint outside of the copied chain.
    const kept = writes.filter(({ claimedBy }) => claimedBy === null || chain.includes(claimedBy));
    await copyWrites(context.engine.native, { threadId: to.run, namespace: to.ns, id: each }, kept);
  }
  await copyEffects(context.engine.native, from, to, { before: id, keepsIds: true });
}
