/** The plug-ins of LangGraph's threads, stores and caches: see {@link Plugin}. */

import type { Context } from "../../plugin/context.js";
import type { Plugin } from "../../plugin/plugin.js";
import { type Parts, readFirst, shownWrite } from "../../plugin/values.js";
import type { FoundCheckpoint, Row } from "../../plugin/wire.js";
import { decodeMark } from "../../store/mark.js";
import { questions } from "./question-source.js";
import { copyAnswers } from "./copy-answers.js";
import { forkBranch } from "./fork.js";
import { saverOf } from "./plain.js";
import { positionOf } from "./position.js";
import { standing, storedStatus } from "./status.js";
import { nextNodes } from "./tasks.js";
import { channelOf } from "./values.js";
import { type Found, langgraph, openFound } from "./wire.js";

export const threads: Plugin = {
  values: readChannels,
  writes: (context, _, found) => found.writes.map((write) => shownWrite(context, write, write.part.name)),
  next: nextOf,
  async why(context, { run, ns }, status) {
    const found = await storedStatus(saverOf(context), run, ns ?? "");
    if (found === null) return null;
    const { interrupts, next } = found;
    const nodes = next.map((node) => JSON.stringify(node)).join(", ");
    if (status === "waiting")
      return interrupts.length === 1 ? "it asks a question" : `it asks ${interrupts.length} questions`;
    if (status === "failed") return nodes === "" ? "a task has failed" : `a task has failed: ${nodes}`;
    return status === "unfinished" ? `next: ${nodes}` : null;
  },
  label: (metadata) => metadata["source"],
  made: {
    nodes: (_, row, __, parent) => decodeMark(parent?.mark).nodes?.next ?? decodeMark(row.mark).nodes?.ran ?? [],
    needsParent: ({ mark }) => decodeMark(mark).nodes?.sent === true,
  },
  isPause: ({ part }) => part.name === "__interrupt__",
  async stand(context, { run }) {
    const found = await standing(saverOf(context), run);
    if (found === null) return null;
    const { status, mark } = found;
    return { status, mark, position: (from) => positionOf(saverOf(context), found.found, from) };
  },
  questions,
  fork: forkBranch,
  copyAnswers,
};

export const store: Plugin = {
  values: (parts, { meta }, { parts: [part] }) => [part ? parts.read(part).value : meta, null],
};

export const cache: Plugin = { values: readFirst };

/** Each channel is a part. Another part holds the rest of the checkpoint, without its id. */
function readChannels(parts: Parts, row: Row, found: FoundCheckpoint): [unknown, unknown] {
  const state: Array<[string, unknown]> = [];
  let rest: unknown = null;
  for (const part of found.parts) {
    const channel = channelOf(part.name);
    const { value } = parts.read(part, channel ?? "checkpoint");
    if (channel === undefined) rest = withId(value, row.id);
    else state.push([channel, value]);
  }
  return [Object.fromEntries(state), rest];
}

function withId(rest: unknown, id: string): unknown {
  return typeof rest === "object" && rest !== null && "id" in rest ? Object.assign(rest, { id }) : rest;
}

/** Returns null if the checkpoint does not contain the next nodes. */
async function nextOf(context: Context, { run: threadId, ns, id }: Row): Promise<string[] | null> {
  const fields = { threadId, namespace: ns ?? "", id };
  const found: Found | null = await langgraph.find(context.engine.native, "get", fields, openFound);
  try {
    return found && (await nextNodes(saverOf(context), found));
  } catch {
    return null;
  }
}
