/** The outline of a thread for an import: its checkpoints, their parents, and a fingerprint. */

import { crypto } from "../../bridge/crypto.js";
import type { CheckpointRef } from "./config.js";
import type { SourceThread, SourceWrite } from "./import-source.js";

/** The number of checkpoints and writes of a thread. */
export interface Size {
  checkpoints: number;
  writes: number;
}

/** The key of a checkpoint in the maps and sets of an import. */
export function keyOf({ namespace, id }: Pick<CheckpointRef, "namespace" | "id">): string {
  return JSON.stringify([namespace, id]);
}

/** The position of a write. A checkpoint has at most one write in each slot. */
export function slotOf({ task, index }: { task: string; index: number }): string {
  return `${index},${task}`;
}

/**
 * A short text that differs between threads with different checkpoints or writes. The values of a checkpoint do not
 * count, because a checkpoint never changes.
 */
export class Fingerprint {
  readonly #checkpoints: string[] = [];

  add(namespace: string, id: string, parent: string | null, writes: SourceWrite[]): void {
    const slots = writes.map(({ task, index, part: { name, tag, bytes } }) =>
      JSON.stringify([task, index, name, tag, hash(bytes)]),
    );
    this.#checkpoints.push(hash(JSON.stringify([namespace, id, parent ?? "", slots.toSorted()])));
  }

  toString(): string {
    return hash(this.#checkpoints.toSorted().join());
  }
}

function hash(data: string | Uint8Array): string {
  return crypto().createHash("sha256").update(data).digest("base64url").slice(0, 22);
}

/** The mark of an imported thread: the fingerprints of its checkpoints and of its early writes. */
export interface Imported {
  checkpoints: string;
  orphans: string;
}

/** The outline of a thread of the source, complete after one read. */
export class SourceOutline implements Size {
  checkpoints = 0;
  writes = 0;
  readonly keys = new Set<string>();
  /** The checkpoints that have a child. */
  readonly parents = new Set<string>();
  readonly #checkpoints = new Fingerprint();
  readonly #orphans = new Fingerprint();
  #hasOrphans = false;
  #tip: { namespace: string; id: string } | undefined;

  add({ checkpoints, orphans }: SourceThread): void {
    for (const row of checkpoints) {
      const { namespace, id, parent, writes } = row;
      this.keys.add(keyOf(row));
      if (parent) this.parents.add(keyOf({ namespace, id: parent }));
      this.#checkpoints.add(namespace, id, parent, writes);
      // The root namespace comes first, and ids ascend.
      if (namespace === "" || this.#tip?.namespace !== "") this.#tip = { namespace, id };
      this.writes += writes.length;
    }
    this.#hasOrphans ||= orphans.length > 0;
    for (const { namespace, id, writes } of orphans) {
      this.#orphans.add(namespace, id, null, writes);
      this.writes += writes.length;
    }
    this.checkpoints += checkpoints.length;
  }

  /** The key of the newest checkpoint of the graph itself. Undefined if there is none. */
  get tip(): string | undefined {
    return this.#tip && keyOf(this.#tip);
  }

  get hasOrphans(): boolean {
    return this.#hasOrphans;
  }

  get imported(): Imported {
    return { checkpoints: String(this.#checkpoints), orphans: String(this.#orphans) };
  }
}
