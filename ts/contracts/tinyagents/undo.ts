/** Undoes the work of a stopped run: removes the checkpoints that were put since, in all namespaces. */

import { quote } from "../../bridge/errors.js";
import type { RunKey } from "../../bridge/native.js";
import type { Engine } from "../../store/engine.js";
import type { Undo } from "../../store/host.js";
import { inspect } from "../../store/newest.js";
import { noPlace } from "../../store/undo.js";
import { find, headers } from "./threads.js";
import { tinyagents } from "./wire.js";

/** A lease of a thread covers all of its namespaces. */
const namespaceOf = ({ ns }: RunKey): string | undefined => (ns === "" ? undefined : ns);

/** The engine's id of the last checkpoint. Subgraphs put checkpoints in namespaces of their own. */
async function placeOf(engine: Engine, of: RunKey): Promise<string | null> {
  return (await find(engine, of.run, namespaceOf(of), undefined))?.header.key ?? null;
}

async function goBack(engine: Engine, of: RunKey, place: string | null): Promise<void> {
  const { native } = engine;
  const { space, run } = of;
  if (place === null) return void (await inspect.call(native, "undo", { of }));
  const all = await headers(engine, run, namespaceOf(of));
  // `recover` knows only the id of the thread's last checkpoint.
  const at = all.findLastIndex(({ key, id, namespace }) => key === place || (namespace === "" && id === place));
  if (at === -1) throw noPlace(of, `checkpoint ${quote(place)}, from which it began, was removed`);
  const kept = new Set(all.slice(0, at + 1).map(({ namespace }) => namespace));
  const later = all.slice(at + 1).toReversed();
  const keys = later.filter(({ namespace }) => kept.has(namespace)).map(({ key }) => key);
  // A namespace without checkpoints would lose its effects.
  const begun = new Set(later.map(({ namespace }) => namespace).filter((namespace) => !kept.has(namespace)));
  for (const ns of begun) await inspect.call(native, "undo", { of: { space, run, ns } });
  if (keys.length > 0) await tinyagents.call(native, "delete", { keys });
}

export const undo: Undo = { placeOf, goBack };
