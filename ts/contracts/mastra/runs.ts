/**
 * Reads and changes the snapshots of runs. Each stored snapshot is a checkpoint. It expects the checkpoint that it was
 * made from, so that no change undoes another one.
 */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isOvertaken, quote } from "../../bridge/errors.js";
import { type Serialized, deserialize } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";
import type { Engine } from "../../store/engine.js";
import { removing } from "../../store/removing.js";
import { Seen } from "../../store/seen.js";
import { batches } from "../../store/page.js";
import { Turns } from "../shared/turns.js";
import { type Filter, type FoundRun, type Of, type Status, mastra } from "./wire.js";

/** The fields of a snapshot that the store reads. */
export interface Snapshot {
  status: string;
  context: Record<string, unknown>;
  stepExecutionPath?: string[] | undefined;
  [field: string]: unknown;
}

/** A run with its snapshot. */
export interface Run extends FoundRun {
  snapshot: Snapshot;
}

/** A copied snapshot, with the values to store beside it. */
export interface Copied {
  part: Serialized;
  status: string;
  step: string | undefined;
}

/** The options of a save. Left-out values stay. */
export interface Given {
  resource?: string | undefined;
  createdAt?: number | undefined;
  updatedAt?: number | undefined;
}

/** The filter and the page of a list of runs. */
export interface Listing {
  workflow: string | undefined;
  filter: Filter;
  offset: number;
  /** Undefined: all runs. */
  limit: number | undefined;
}

/** Maps statuses to those that all frameworks share. */
const STATUSES: Record<string, Status> = {
  suspended: "waiting",
  paused: "waiting",
  failed: "failed",
  tripwire: "failed",
  success: "finished",
  canceled: "finished",
  bailed: "finished",
  skipped: "finished",
};

/** The number of runs whose newest checkpoints stay in memory. */
const KEPT = 1_000;
const [PAGE, SNAPSHOTS] = [1_000, 50];
/** The number of runs that the engine examines in a call. */
const LOOKS = 10_000;

export class Runs {
  readonly #turns = new Turns();
  /** The newest checkpoints, as last seen. A save expects the seen one, so an outdated one does no harm. */
  readonly #newest = new Map<string, FoundRun>();
  /** The runs that this store has saved or read, with their creation times. */
  readonly #seen = new Seen();

  /** Copies a snapshot. Must be called before the first await. */
  copy(engine: Engine, snapshot: Snapshot): Copied {
    const part = engine.format.serialize(snapshot, "snapshot");
    const status = typeof snapshot.status === "string" ? snapshot.status : "";
    const step: unknown = Array.isArray(snapshot.stepExecutionPath) ? snapshot.stepExecutionPath.at(-1) : undefined;
    return { part, status: status.toWellFormed(), step: typeof step === "string" ? step.toWellFormed() : undefined };
  }

  /** Stores a snapshot over the run's newest one. Returns the id of the checkpoint. */
  persist(engine: Engine, of: Of, copied: Copied, given: Given = {}): Promise<string> {
    return this.#alone(of, async () => {
      for (;;) {
        const before = this.#newest.get(nameOf(of)) ?? (await this.#find(engine, of));
        const id = await this.#save(engine, of, copied, before, given);
        if (id !== undefined) return id;
      }
    });
  }

  /**
   * Reads a run, decides, and stores the resulting snapshot. Repeats if another writer was faster. `decide` may change
   * its argument.
   */
  change<T>(
    engine: Engine,
    of: Of,
    decide: (found: Run | undefined) => { result: T; snapshot?: Snapshot },
  ): Promise<T> {
    return this.#alone(of, async () => {
      for (;;) {
        const found = await this.#find(engine, of);
        const { result, snapshot } = decide(found);
        if (snapshot === undefined) return result;
        if ((await this.#save(engine, of, this.copy(engine, snapshot), found, {})) !== undefined) return result;
      }
    });
  }

  /** Stores a snapshot after the newest checkpoint `before`. Returns its id. Undefined: another writer was faster. */
  async #save(
    engine: Engine,
    of: Of,
    copied: Copied,
    before: FoundRun | undefined,
    given: Given,
  ): Promise<string | undefined> {
    const { part, status, step } = copied;
    // The initial status of a run.
    const begun = this.#seen.incarnation(nameOf(of));
    const isOver =
      before === undefined ? this.#seen.has(nameOf(of)) : begun !== undefined && begun !== before.createdAt;
    if (isOver && status !== "pending") {
      const message = `run ${quote(of.run)} of workflow ${quote(of.workflow)} was deleted while it ran: nothing was stored`;
      throw new ForkpointError("CONFLICT", message);
    }
    const now = Date.now();
    const meta = {
      createdAt: before?.createdAt ?? given.createdAt ?? now,
      updatedAt: given.updatedAt ?? now,
      resource: given.resource ?? before?.resource,
      step,
    };
    const id = crypto().randomUUID();
    const parts = [{ name: "snapshot", tag: part.tag }];
    const fields = { of, id, newest: before?.id, label: status, meta, status: STATUSES[status] ?? "unfinished", parts };
    try {
      await mastra.call(engine.native, "save", { ...fields, savedAt: now }, [part.bytes]);
      if (status === "pending") this.#seen.forget(nameOf(of));
      this.#keep({ ...of, ...meta, id, status });
      return id;
    } catch (error) {
      this.#newest.delete(nameOf(of));
      if (isOvertaken(error)) return undefined;
      throw error;
    }
  }

  /** Reads a run, after the pending changes of this store. */
  find(engine: Engine, of: Of): Promise<Run | undefined> {
    return this.#turns.shared(nameOf(of), async () => {
      const found = await this.#find(engine, of);
      // A caller that found no run may restart it. A caller that found a run continues it.
      this.#seen.looked(nameOf(of), found === undefined ? null : { incarnation: found.createdAt });
      return found;
    });
  }

  async #find(engine: Engine, of: Of): Promise<Run | undefined> {
    const [found] = await this.#read(engine, [of]);
    if (found !== undefined) this.#keep(found);
    return found;
  }

  /** Reads runs. Leaves out removed ones. */
  async read(engine: Engine, all: readonly Of[]): Promise<Run[]> {
    const found: Run[] = [];
    for (let at = 0; at < all.length; at += SNAPSHOTS) {
      found.push(...(await this.#read(engine, all.slice(at, at + SNAPSHOTS))));
    }
    return found;
  }

  async #read(engine: Engine, all: readonly Of[]): Promise<Run[]> {
    const of = all.map(({ workflow, run }) => ({ workflow, run }));
    const found = await mastra.find(engine.native, "snapshots", { of }, (runs, part) =>
      runs.map(({ parts, ...rest }) => ({ ...rest, part: parts.map(part)[0] })),
    );
    return (found ?? []).map(({ part, ...rest }) => Object.assign(rest, { snapshot: snapshotOf(engine, rest, part) }));
  }

  /** Lists the runs of a workflow, or all runs, page by page, the last begun first. */
  async *list(engine: Engine, workflow?: string): AsyncGenerator<FoundRun> {
    await this.#turns.settled();
    const read = (before: number | undefined, limit: number) =>
      mastra.call(engine.native, "runs", { workflow, before, limit });
    for await (const runs of batches(read)) yield* runs;
  }

  /**
   * Lists runs after the first `offset`, the last created first. `total` is the number of all matching runs. The engine
   * examines the runs, and returns only those of the page.
   */
  async select(
    engine: Engine,
    { workflow, filter, offset, limit }: Listing,
  ): Promise<{ total: number; runs: FoundRun[] }> {
    await this.#turns.settled();
    const most = limit === undefined ? undefined : offset + limit;
    let [total, found]: [number, FoundRun[]] = [0, []];
    for (let before: number | undefined; ;) {
      const page = await mastra.call(engine.native, "select", { workflow, filter, before, looks: LOOKS, most });
      total += page.total;
      // Of runs with the same time, the last begun comes first.
      found = [...found, ...page.runs].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, most);
      if (page.next === null) return { total, runs: found.slice(offset) };
      before = page.next;
    }
  }

  /** Finds the last created run with an id, in any workflow. */
  async named(engine: Engine, run: string): Promise<FoundRun | undefined> {
    await this.#turns.settled();
    let found: FoundRun[] = [];
    for (let after: number | undefined; ;) {
      const page = await mastra.call(engine.native, "named", { run, after, looks: PAGE });
      found = [...found, ...page.runs].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, 1);
      if (page.next === null) return found[0];
      after = page.next;
    }
  }

  /** Removes a run. With `newest`, only if this is its newest checkpoint. Returns whether the run was removed. */
  remove(engine: Engine, { workflow, run }: Of, newest?: string): Promise<boolean> {
    const of = { workflow, run };
    return this.#alone(of, async () => {
      this.#newest.delete(nameOf(of));
      try {
        await mastra.call(removing(engine.native, { space: mastra.name, run, ns: workflow }, false), "remove", {
          of,
          newest,
        });
        return true;
      } catch (error) {
        if (newest === undefined || !isOvertaken(error)) throw error;
        return false;
      }
    });
  }

  #keep({ workflow, run, id, status, createdAt, updatedAt, resource, step }: FoundRun): void {
    const name = nameOf({ workflow, run });
    // A restarted run has a later creation time, which a late save must not adopt.
    this.#seen.note(name, this.#seen.incarnation(name) ?? createdAt);
    this.#newest.delete(name);
    this.#newest.set(name, { workflow, run, id, status, createdAt, updatedAt, resource, step });
    if (this.#newest.size > KEPT) this.#newest.delete(this.#newest.keys().next().value!);
  }

  #alone<T>(of: Of, change: () => Promise<T>): Promise<T> {
    return this.#turns.alone(nameOf(of), change);
  }
}

function snapshotOf(engine: Engine, { run }: Of, part: Part | undefined): Snapshot {
  const what = `the snapshot of run ${quote(run)}`;
  if (part === undefined) throw new ForkpointError("CORRUPT", `${what} is missing: restore a backup`);
  return deserialize(engine.format, part.tag, part.bytes, what) as Snapshot;
}

const nameOf = ({ workflow, run }: Of) => JSON.stringify([workflow, run]);
