/** Searches the states of runs for a text: the newest checkpoint of each run, or all of them. */

import { stepName } from "./step-name.js";
import { ForkpointError } from "../bridge/errors.js";
import { detachBuffers } from "../bridge/detach.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import type { Stored } from "../bridge/serializer.js";
import { requireId } from "../store/ids.js";
import { labelsOption } from "../store/labels.js";
import { callback, flag, oneOf, readRecord, signalOption, text as textOption, whole } from "../store/options.js";
import { traitsOf } from "../contracts/registry.js";
import { type Context, readSpace } from "./context.js";
import { readFound } from "../plugin/values.js";
import { readValues, readWrites } from "./read-checkpoint.js";
import { infoOf } from "./rows.js";
import { statuses } from "./runs.js";
import { type Pattern, patternOf, sieveOf } from "./search-pattern.js";
import { type Candidate, type Placed, type Target, type Wanted, rowsOf, targetsOf } from "./search-targets.js";
import { matchesIn } from "./search-values.js";
import type { SearchHit, SearchOptions, SearchProgress } from "./search-views.js";
import type { Part } from "../bridge/wire.js";
import { type At, type FoundCheckpoint, type Row, type Sieve, inspect } from "../plugin/wire.js";

const searchOptions = {
  regex: flag,
  ignoreCase: flag,
  space: readSpace,
  run: requireId,
  ns: textOption,
  status: oneOf(...statuses),
  label: labelsOption,
  allSteps: flag,
  limit: whole(1, Number.MAX_SAFE_INTEGER, "hits"),
  signal: signalOption,
  onProgress: callback<(progress: SearchProgress) => void>,
};

/** How many checkpoints one call examines, and their approximate size together, in bytes. */
const [AT_ONCE, BYTES_AT_ONCE] = [128, 8 * 2 ** 20];

/** How many checkpoints are read ahead. */
const AHEAD = 32;

/** The maximum number of reported hits in one checkpoint. */
const MOST_HITS = 1_000;

/** Checks the arguments of a search, and returns the search. */
export function search(
  context: Context,
  text: unknown,
  given: unknown,
  closing: () => boolean,
): AsyncGenerator<SearchHit, void, void> {
  const { regex, ignoreCase, signal, onProgress, ...wanted } = readRecord(given, "options", searchOptions);
  const pattern = patternOf(textOption(text, "text"), { regex, ignoreCase });
  const isStopped = () => {
    if (closing()) throw new ForkpointError("CLOSED", "the inspector was closed during a search");
    return signal?.aborted === true;
  };
  return new Search(context, pattern, wanted, onProgress, isStopped).hits();
}

class Search {
  readonly #context: Context;
  readonly #pattern: Pattern;
  readonly #wanted: Wanted;
  readonly #onProgress: SearchOptions["onProgress"];
  readonly #isStopped: () => boolean;
  readonly #sieve: Sieve;
  /** The number of checkpoints in the next call. It begins small, so that the first hit comes soon. */
  #room = 16;
  /** Whether the last call ran on the second thread. Two threads alternate. */
  #beside = true;
  readonly #progress: SearchProgress = { runs: 0, checkpoints: 0, hits: 0, unreadable: {}, damaged: 0 };

  constructor(
    context: Context,
    pattern: Pattern,
    wanted: Wanted,
    onProgress: SearchOptions["onProgress"],
    isStopped: () => boolean,
  ) {
    this.#context = context;
    this.#pattern = pattern;
    this.#sieve = sieveOf(pattern, context.formats.keys());
    this.#wanted = wanted;
    this.#onProgress = onProgress;
    this.#isStopped = isStopped;
  }

  async *hits(): AsyncGenerator<SearchHit, void, void> {
    const { limit = Number.POSITIVE_INFINITY } = this.#wanted;
    for await (const { candidate, found } of this.#read()) {
      if (this.#isStopped()) return;
      for (const match of found === null ? [] : await this.#search(candidate, found)) {
        this.#progress.hits += 1;
        yield hitOf(this.#context, candidate.row, match);
        if (this.#isStopped()) return;
        if (this.#progress.hits >= limit) return this.#tell();
      }
      this.#done(candidate.target);
      this.#tell();
    }
    this.#tell();
  }

  #done({ isLastOfRun }: Target): void {
    this.#progress.checkpoints += 1;
    if (isLastOfRun) this.#progress.runs += 1;
  }

  #tell(): void {
    this.#onProgress?.({ ...this.#progress, unreadable: { ...this.#progress.unreadable } });
  }

  /** Yields the possible matches in order. Some are read ahead. Null: the checkpoint was removed or is damaged. */
  async *#read(): AsyncGenerator<{ candidate: Candidate; found: FoundCheckpoint | null }> {
    for await (const candidates of this.#candidates()) {
      const queue: Array<{ candidate: Candidate; reading: Promise<FoundCheckpoint | null> }> = [];
      let bytes = 0;
      for (const candidate of candidates) {
        // The first one is always read, even if it is large.
        while (queue.length >= AHEAD || (queue.length > 0 && bytes + candidate.row.logical > BYTES_AT_ONCE)) {
          const { candidate: first, reading } = queue.shift()!;
          bytes -= first.row.logical;
          yield { candidate: first, found: await reading };
        }
        queue.push({ candidate, reading: begun(this.#found(candidate.row)) });
        bytes += candidate.row.logical;
      }
      for (const { candidate, reading } of queue) yield { candidate, found: await reading };
    }
  }

  /**
   * Yields the checkpoints that may match. One call of the engine examines many. The next call runs during the use of
   * its result.
   */
  async *#candidates(): AsyncGenerator<Candidate[]> {
    let targets: Target[] = [];
    let before: Promise<Candidate[]> | undefined;
    for await (const target of targetsOf(this.#context, this.#wanted)) {
      targets.push(target);
      if (targets.length < this.#room) continue;
      if (this.#isStopped()) return;
      const next = begun(this.#sift(targets));
      if (before !== undefined) yield await before;
      [before, targets] = [next, []];
    }
    const last = begun(this.#sift(targets));
    if (before !== undefined) yield await before;
    yield await last;
  }

  async #sift(targets: readonly Target[]): Promise<Candidate[]> {
    const found = new Set<number>();
    const sifted: number[] = [];
    for (const [index, { at }] of targets.entries()) {
      if (this.#isSifted(at)) sifted.push(index);
      else found.add(index);
    }
    if (sifted.length > 0) {
      for (const index of await this.#lookThrough(sifted.map((each) => targets[each]!))) found.add(sifted[index]!);
    }
    for (const [index, target] of targets.entries()) if (!found.has(index)) this.#done(target);
    if (found.size < targets.length) this.#tell();
    return rowsOf(
      this.#context,
      this.#wanted,
      targets.filter((_, index) => found.has(index)),
    );
  }

  /** Returns the indexes of the checkpoints that may match. */
  async #lookThrough(targets: readonly Target[]): Promise<number[]> {
    const { at: first, before: id } = targets[0]!;
    const answer = await inspect.call(this.#context.engine.native, "sift", {
      checkpoints: targets.map(({ at }) => at),
      before: id === undefined ? undefined : { ...first, id },
      sieve: this.#sieve,
      beside: (this.#beside = !this.#beside),
    });
    this.#progress.damaged += answer.damaged;
    for (const [tag, count] of Object.entries(answer.unread)) this.#count(tag, count);
    // The next checkpoints probably have the same size.
    const mean = answer.bytes / targets.length;
    this.#room = Math.max(1, Math.min(AT_ONCE, Math.floor(BYTES_AT_ONCE / mean)));
    return answer.found;
  }

  /** Returns false if values are stored in another form than they are shown. */
  #isSifted({ space, id }: At): boolean {
    const { isJoined, madeKeys = [] } = traitsOf(space);
    if (id === "" || isJoined?.(id) === true) return false;
    return madeKeys.every((name) => this.#pattern.find(name) === null);
  }

  /** Reads the bytes of a checkpoint. Null: it was removed or is unreadable. */
  async #found(row: Row): Promise<FoundCheckpoint | null> {
    try {
      return await readFound(this.#context, row);
    } catch (error) {
      if (!(error instanceof ForkpointError) || !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
      this.#progress.damaged += 1;
      return null;
    }
  }

  async #search({ target, row }: Candidate, found: FoundCheckpoint): Promise<Placed[]> {
    const { at, isNewest, history } = target;
    const parts = partsOf(found);
    if (!this.#isSifted(at)) for (const part of parts) if (!this.#isReadable(part)) this.#count(part.tag);
    const matches = await this.#matches(row, isNewest, found);
    detachBuffers(...parts);
    return history?.newOf(matches) ?? matches;
  }

  #isReadable({ tag }: Stored): boolean {
    return this.#sieve.kinds.some(({ tags }) => tags.includes(tag));
  }

  #count(tag: string, count = 1): void {
    const { unreadable } = this.#progress;
    unreadable[tag] = (Object.hasOwn(unreadable, tag) ? unreadable[tag]! : 0) + count;
  }

  async #matches(row: Row, isNewest: boolean, found: FoundCheckpoint): Promise<Placed[]> {
    const { state, rest } = readValues(this.#context, row, found);
    const writes = await readWrites(this.#context, row, found);
    // Parts without their serializers were already counted.
    const missing = new Set(partsOf(found).flatMap((part) => (this.#isReadable(part) ? [] : [part.tag])));
    const unread = (tag: string) => {
      if (!missing.has(tag)) this.#count(tag);
    };
    const shownState = shownForm(state);
    const shownRest = rest === null ? null : shownForm(rest);
    return this.#pattern.during(() => {
      const all: Placed[] = [];
      const take = (part: Placed["part"], form: unknown, prefix: Array<string | number> = []) => {
        for (const match of matchesIn(form, this.#pattern, prefix, unread)) {
          if (all.length >= MOST_HITS) return;
          all.push({ part, ...match });
        }
      };
      take("state", shownState);
      for (const [at, { channel, value }] of writes.entries()) {
        // Other writes to earlier checkpoints are in the states after them.
        if (isNewest || channel.startsWith("__")) take("writes", value, [at, "value"]);
      }
      if (rest !== null) take("rest", shownRest);
      return all;
    });
  }
}

const partsOf = ({ parts, writes, records }: FoundCheckpoint): Part[] => [
  ...parts,
  ...writes.map(({ part }) => part),
  ...(records ?? []),
];

function hitOf(context: Context, row: Row, { part, path, inKey, snippet }: Placed): SearchHit {
  const info = infoOf(context, row, undefined, undefined);
  const { space, run, ns, id, step, savedAt } = info;
  return { space, run, ns, id, step, label: stepName(info), savedAt, part, path, inKey, snippet };
}

/** Lets a promise reject at its await, or nowhere if the search ends earlier. */
function begun<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
