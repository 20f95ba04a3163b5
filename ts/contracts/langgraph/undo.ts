/** Undoes the work of a stopped run: the thread continues from an earlier checkpoint, in a new branch. */

import type { RunKey } from "../../bridge/native.js";
import type { Part } from "../../bridge/wire.js";
import { keepEffects } from "../../store/effect-copies.js";
import type { Engine } from "../../store/engine.js";
import { encodeMark } from "../../store/mark.js";
import { newestId } from "../../store/newest.js";
import { contentOf, foundAt, json, put, storeBranch } from "./branch.js";
import { laterUuid } from "./uuid6.js";

/** The step of the checkpoint before a graph's input. */
const BEFORE_INPUT = -2;

export async function undo(engine: Engine, key: RunKey, to: string | null): Promise<void> {
  const id = laterUuid(to ?? "", Date.now());
  if (to !== null) {
    const { header, parts } = await foundAt(engine, key, to);
    const newest = await newestId(engine, key);
    // Before the branch is stored: a process that ends between the two leaves no branch that repeats an effect.
    if (newest !== null) await keepEffects(engine.native, key, newest, { to, next: id });
    return storeBranch(engine, key, id, header, contentOf(parts, to, readJson), readJson(header.metadata).value);
  }
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

function readJson({ tag, bytes }: Pick<Part, "tag" | "bytes">): { value: unknown; readable: boolean } {
  const readable = tag === "json";
  return { readable, value: readable ? JSON.parse(Buffer.from(bytes).toString()) : null };
}
