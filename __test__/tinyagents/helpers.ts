import {
  Checkpointer,
  type CheckpointerOptions,
  type NewThreadCheckpoint,
  type PendingWrite,
} from "forkpoint/tinyagents";
import { type Kind, checkedAfter, pairOf, place } from "../helpers.js";

export { expectSound } from "../helpers.js";
export type { Kind };

/** Opens a checkpointer on a new target. Checks and closes it as `at` does. */
export function make<S = any>(kind: Kind, options?: CheckpointerOptions): Checkpointer<S> {
  return at(place(kind), options);
}

/**
 * Opens a checkpointer on a target. When the running test ends, the database must be undamaged, and the checkpointer is
 * closed.
 */
export function at<S = any>(
  target: ConstructorParameters<typeof Checkpointer>[0],
  options?: CheckpointerOptions,
): Checkpointer<S> {
  return checkedAfter(new Checkpointer<S>(target, options));
}

/** Opens two checkpointers on the same new data. */
export const pair = (kind: Kind, options?: CheckpointerOptions): Promise<[Checkpointer<any>, Checkpointer<any>]> =>
  pairOf(kind, (target) => at(target, options));

/** Makes a pending write. */
export function write(fields: Partial<PendingWrite> = {}): PendingWrite {
  return { node: "n", taskId: "task", idx: 0, channel: "c", payload: "p", ...fields };
}

/**
 * Puts checkpoints "c0", "c1" and so on, each the child of the one before it. The state of each is its number. Returns
 * their ids.
 */
export async function chain(
  store: Checkpointer<any>,
  count: number,
  fields: Partial<NewThreadCheckpoint<unknown>> & { name?: string } = {},
): Promise<string[]> {
  const { name = "c", dependsOnParent = false, ...rest } = fields;
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const parentCheckpointId = made.at(-1) ?? null;
    const depends = dependsOnParent && n > 0;
    made.push(
      await store.put({
        dependsOnParent: depends,
        threadId: "t",
        state: n,
        checkpointId: `${name}${n}`,
        parentCheckpointId,
        ...rest,
      }),
    );
  }
  return made;
}

/** Returns the ids of checkpoints, in order. */
export function idsOf(listed: ReadonlyArray<{ checkpointId: string }>): string[] {
  return listed.map(({ checkpointId }) => checkpointId);
}

/** Everything that the store returns about a thread, except for the times. */
export async function everything(store: Checkpointer<any>, threadId: string): Promise<object[]> {
  const all: object[] = [];
  for (const { createdAt: _, ...entry } of await store.list(threadId)) {
    const config = { threadId, checkpointId: entry.checkpointId, namespace: entry.namespace };
    all.push({ entry, tuple: await store.getTuple(config), writes: await store.getWrites(config) });
  }
  return all;
}

/** The edges of a path through these nodes. */
export const path = (...names: string[]): Array<readonly [string, string]> =>
  names.slice(1).map((to, at) => [names[at]!, to]);
