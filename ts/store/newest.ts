/** Finds the newest checkpoints of runs of any contract. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { RunKey } from "../bridge/native.js";
import { Contract } from "../bridge/wire.js";
import { traitsOf } from "../contracts/registry.js";
import type { Engine } from "./engine.js";

type Inspect = CallsOf<engine.inspect.Call, engine.inspect.Responses>;

/** The calls that read and remove runs of any contract. */
export const inspect = new Contract<Inspect>("inspect", {
  kinds: { rows: null, recent: null, remove: "prune", undo: "prune" },
});

/** A run, with its newest checkpoint and its status, as the store has them. */
export interface Newest extends Omit<RunKey, "space"> {
  /** Names the newest checkpoint, or the newest state of a run with a current state. See {@link newestName}. */
  newest: string;
  status: string;
}

/** The name of a run's newest checkpoint. A current state keeps its id and its save number when it changes. */
export function newestName({ id, savedAt }: { id: string; savedAt: number }, isCurrent: boolean): string {
  return isCurrent ? `${id}@${savedAt}` : id;
}

function pageOf({ space, run, ns }: RunKey) {
  return { space, run, ns, from: "end", newestFirst: true, limit: 1, sums: false } as const;
}

/** Returns the newest checkpoint of a run of any contract, without its values. Undefined: the run has none. */
export async function newestRow({ native }: Pick<Engine, "native">, of: RunKey) {
  const [found] = await inspect.call(native, "rows", { pages: [pageOf(of)] });
  return found?.rows[0];
}

/** Returns the id of the newest checkpoint of a run of any contract. Null: the run has none. */
export const newestId = async (engine: Pick<Engine, "native">, of: RunKey): Promise<string | null> =>
  (await newestRow(engine, of))?.id ?? null;

/** The maximum number of runs with one name that differ in their namespaces. */
const MOST = 1_000;

/**
 * Returns the newest checkpoint of a run of any contract. The list is empty if the run has none. If namespaces are
 * parts of the runs' names, a name without a namespace stands for several runs.
 */
export async function newestOf({ native }: Pick<Engine, "native">, of: RunKey): Promise<Newest[]> {
  const { space, run, ns } = of;
  const { namespaces, current } = traitsOf(space);
  if (namespaces === "part" && ns === "") {
    const fields = { spaces: [space], matching: run, statuses: undefined, labels: undefined, after: undefined };
    const found = await inspect.call(native, "recent", { ...fields, limit: MOST });
    const runs = found.filter((each) => each.run === run);
    return runs.map(({ id, status, ns }) => ({ run, ns: ns ?? "", newest: id, status }));
  }
  const pages = [of, ...(current === undefined ? [] : [{ ...of, space: current }])].map(pageOf);
  const found = await inspect.call(native, "rows", { pages });
  const page = found.findLast(({ rows }) => rows.length > 0);
  if (page === undefined) return [];
  const name = newestName(page.rows[0]!, current !== undefined && page === found[1]);
  return [{ run, ns, newest: name, status: page.status }];
}
