/**
 * Refuses saves to runs of other programs, if the store has the option `program`.
 *
 * AgentOS reads a run only when it resumes it. The first save of a run therefore reads the newest checkpoint. Each later
 * save expects that its own last save is the newest. If it is not, it reads again.
 */

import { isOvertaken, quote } from "../../bridge/errors.js";
import type { Engine } from "../../store/engine.js";
import { decodeMark } from "../../store/mark.js";
import { type OwnProgram, isOther, otherProgram } from "../../store/owner.js";
import { programOf } from "./graph.js";
import type { Fields } from "./stored.js";
import { type Found, agentos, openFound } from "./wire.js";

/** The maximum number of runs whose last saves are remembered. A forgotten run is read again. */
const MOST = 8_192;

export class Owner {
  readonly #own: OwnProgram;
  /** The ids of the last saves, by their runs. */
  readonly #last = new Map<string, string>();
  /** The saves that wait for a read, by their runs. Later saves wait too, because the order of saves counts. */
  readonly #reading = new Map<string, Promise<unknown>>();

  constructor(own: OwnProgram) {
    this.#own = own;
  }

  /** Stores a checkpoint, unless its run belongs to another program. `store` gets the newest checkpoint to expect. */
  save(
    engine: Engine,
    { runId, id }: Fields,
    store: (expectedNewest: string | undefined) => Promise<null>,
  ): Promise<null> {
    if (this.#own.force) return store(undefined);
    const last = this.#last.get(runId);
    this.#note(runId, id);
    const read = () =>
      this.#after(runId, async () => {
        await this.require(engine, runId);
        return store(undefined);
      });
    if (last === undefined || this.#reading.has(runId)) return read();
    return store(last).catch((error: unknown) => {
      if (!isOvertaken(error)) throw error;
      return read();
    });
  }

  /** Throws if a run belongs to another program. */
  async require({ native }: Engine, runId: string): Promise<void> {
    if (this.#own.force) return;
    const found: Found | null = await agentos.find(native, "load", { runId, nodeId: undefined }, openFound);
    if (found === null) return;
    const made = decodeMark(found.mark).program ?? programOf(found.graphId);
    const { name } = this.#own;
    if (!isOther(made, name)) return;
    this.#last.delete(runId);
    const force = `create the store with program: { name: ${quote(name)}, force: true }`;
    throw otherProgram(`run ${quote(runId)}`, made, name, force);
  }

  /** Forgets a run that this store has deleted. */
  forget(runId: string): void {
    this.#last.delete(runId);
  }

  #note(runId: string, id: string): void {
    this.#last.delete(runId);
    this.#last.set(runId, id);
    if (this.#last.size > MOST) this.#last.delete(this.#last.keys().next().value!);
  }

  /** Runs work after the earlier saves of a run that wait for a read. */
  async #after<T>(runId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#reading.get(runId);
    const done = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#reading.set(runId, done);
    try {
      return await done;
    } finally {
      if (this.#reading.get(runId) === done) this.#reading.delete(runId);
    }
  }
}
