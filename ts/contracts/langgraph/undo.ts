/** Undoes the work of a stopped run: the thread continues from an earlier checkpoint, in a new branch. */

import type { RunKey } from "../../bridge/native.js";
import type { Part } from "../../bridge/wire.js";
import { keepEffects } from "../../store/effect-copies.js";
import type { Engine } from "../../store/engine.js";
import { encodeMark } from "../../store/mark.js";
import { inspect, newestId } from "../../store/newest.js";
import { removeDownTo } from "../../store/undo.js";
import { contentOf, foundAt, json, put, storeBranch } from "./branch.js";
import { laterUuid } from "./uuid6.js";

/** The step of the checkpoint before a graph's input. */
const BEFORE_INPUT = -2;

export async function undo(engine: Engine, key: RunKey, to: string | null): Promise<void> {
  const id = laterUuid(to ?? "", Date.now());
  if (to !== null) {
    const { header, parts } = await foundAt(engine, key, to);
    const newest = await newestId(engine, key);
    await forget(engine, key, to);
    // Before the branch is stored: a process that ends between the two leaves no branch that repeats an effect.
    if (newest !== null) await keepEffects(engine.native, key, newest, { to, next: id });
    return storeBranch(engine, key, id, header, contentOf(parts, to, readJson), readJson(header.metadata).value);
  }
  await forget(engine, key, null);
  // The run began a new thread. Its effects stay only if the thread has a checkpoint, so store an empty one.
  const rest = { v: 4, id, ts: new Date().toISOString(), channel_versions: {}, versions_seen: {} };
  await put(engine, key, id, null, {
    parts: [{ name: "", ...json(rest) }],
    metadata: json({ source: "fork", step: BEFORE_INPUT, parents: {} }),
    mark: encodeMark({ branch: true }),
    dependsOnParent: false,
    status: "finished",
  });
}

/** Undoes what subgraphs with a memory of their own have saved since. Their namespaces have no id of a task. */
async function forget(engine: Engine, { space, run }: RunKey, to: string | null): Promise<void> {
  const { native } = engine;
  const namespaces = await inspect.call(native, "namespaces", { space, run });
  const own = namespaces.filter((ns) => ns !== "" && !ns.includes(":"));
  if (own.length === 0) return;
  const page = { space, run, ns: "", from: { id: to ?? "" }, newestFirst: true, limit: 1, sums: false };
  const place = to === null ? undefined : (await inspect.call(native, "rows", { pages: [page] }))[0]?.rows[0];
  for (const ns of own) {
    const of = { space, run, ns };
    const isKept = place !== undefined && (await removeDownTo(engine, of, ({ seq }) => seq <= place.seq));
    if (!isKept) await inspect.call(native, "undo", { of });
  }
}

function readJson({ tag, bytes }: Pick<Part, "tag" | "bytes">): { value: unknown; readable: boolean } {
  const readable = tag === "json";
  return { readable, value: readable ? JSON.parse(Buffer.from(bytes).toString()) : null };
}
