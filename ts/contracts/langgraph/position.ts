/** Reads the position of a thread: the nodes that ran for its latest input, and those that run next. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { ProgramPosition, ProgramShape } from "../../store/compare-programs.js";
import { headers } from "./list-checkpoints.js";
import { INSIDE } from "./shape.js";
import { NO_NODES } from "./next.js";
import { type Context, nextNodes, openJoins, outline, restOf, tasksOf } from "./tasks.js";
import { type Found, sortKeyOf } from "./wire.js";

const START = "__start__";

/**
 * Returns the position of a thread at the newest checkpoint of the graph, including running subgraphs that `shape` has.
 * A graph that a node calls directly is not in the shape.
 */
export async function positionOf(context: Context, found: Found, shape: ProgramShape): Promise<ProgramPosition> {
  const position = await positionAt(context, found);
  const { threadId, id: root } = found.header;
  const seen = new Set([""]);
  // Running subgraphs have saved after the newest checkpoint of the graph.
  for await (const header of headers(context, threadId)) {
    if (sortKeyOf(header) < root) break;
    const { namespace } = header;
    if (seen.has(namespace)) continue;
    seen.add(namespace);
    const names = namespace.split("|").map((part) => part.split(":")[0]!);
    const prefix = names.map((name) => name + INSIDE).join("");
    if (!position.next.includes(names[0]!) || !shape.nodes.some(({ name }) => name.startsWith(prefix))) continue;
    const inner = await outline(context, threadId, namespace);
    if (inner === null) continue;
    const { done, next, ran = [], waits = [] } = await positionAt(context, inner);
    const inside = (joins: string) => joins.replaceAll("+", `+${prefix}`);
    position.waits?.push(...waits.map(({ to, joins }) => ({ to: prefix + to, joins: prefix + inside(joins) })));
    position.done.push(...done.map((name) => prefix + name));
    position.next.push(...next.map((name) => prefix + name));
    position.ran?.push(...ran.map((name) => prefix + name));
  }
  return position;
}

/** Returns the position in one namespace. */
export async function positionAt(context: Pick<Context, "serde">, found: Found): Promise<ProgramPosition> {
  const tasks = [...new Set((await nextNodes(context, found)) ?? [])];
  // An input that no node has read yet fits every graph.
  const next = tasks.filter((name) => !name.startsWith("__"));
  const { done, ran } = tasks.includes(START) ? { done: [], ran: [] } : doneNodes(await restOf(context, found));
  // A finished task's result waits for the other tasks. A write does not name its node.
  const { finished } = await tasksOf(context, found);
  const waits = await openJoins(context, found);
  return { done: [...new Set([...done, ...(finished > 0 ? next : [])])], next, ran, waits };
}

/**
 * Returns the nodes that ran since the latest input. LangGraph stores the versions of the channels that triggered a
 * node, and versions grow. It stores none for a `task()` or a node run by a `Send`.
 */
function doneNodes(rest: Checkpoint | undefined): { done: string[]; ran: string[] } {
  const seen = rest?.versions_seen ?? {};
  const input = seen[START]?.[START];
  const isLater = (version: string | number) => input === undefined || !(version <= input);
  const all = Object.entries(seen).filter(([name]) => !NO_NODES.has(name));
  const names = (which: (name: string, versions: Array<string | number>) => boolean) =>
    all.filter(([name, versions]) => which(name, Object.values(versions))).map(([name]) => name);
  return {
    done: names((name, versions) => name === START || versions.some(isLater)),
    ran: names((_, versions) => versions.length === 0),
  };
}
