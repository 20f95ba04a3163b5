/** Searches the states of runs for a text: the newest checkpoint of each run, or all of them. */

import { stepName } from "./step-name.js";
import { ForkpointError } from "../bridge/errors.js";
import { detachBuffers } from "../bridge/detach.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { builtInFormat, type Stored } from "../bridge/serializer.js";
import { channelOf } from "../contracts/langgraph/values.js";
import { requireId } from "../store/ids.js";
import { labelsOption } from "../store/labels.js";
import { callback, flag, oneOf, readRecord, signalOption, text as textOption, whole } from "../store/options.js";
import { type Context, SESSIONS, readSpace, shownNs, spaceOf } from "./context.js";
import { readFound, readValues, readWrites } from "./detail.js";
import { everyRow, infoOf, readLineups, recentRuns } from "./rows.js";
import { contractsOf, statuses } from "./runs.js";
import { type Pattern, patternOf } from "./search-pattern.js";
import { type Match, matchesIn, nameOf } from "./search-values.js";
import type { SearchHit, SearchProgress } from "./search-views.js";
import type { Part } from "../bridge/wire.js";
import type { FoundCheckpoint, FoundRun, Key, Row } from "./wire.js";
import type { Space, Status } from "./views.js";

/** What to search, and how. */
export interface SearchOptions {
  /** Whether the text is a regular expression of JavaScript. Default: false. */
  regex?: boolean | undefined;
  /** Whether upper and lower case are the same. Default: false. */
  ignoreCase?: boolean | undefined;
  space?: Space | undefined;
  /** Only the run with this id. */
  run?: string | undefined;
  /** Only this namespace. Default: all, with the subgraphs. */
  ns?: string | undefined;
  /** Only runs with this status. */
  status?: Status | undefined;
  /** Only runs that have all of these labels. */
  label?: Record<string, string> | undefined;
  /** Whether all checkpoints are searched. Each place is then found once, in the first checkpoint that has it. Default: false. */
  allSteps?: boolean | undefined;
  /** The number of hits after which the search ends. Default: no limit. */
  limit?: number | undefined;
  /** Ends the search. */
  signal?: AbortSignal | undefined;
  /** Called while the search reads, and at its end. */
  onProgress?: ((progress: SearchProgress) => void) | undefined;
}

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

type Wanted = Omit<SearchOptions, "regex" | "ignoreCase" | "signal" | "onProgress">;

/** The number of runs that one call lists. The first call lists fewer, so that the first hit comes soon. */
const [FIRST, LATER] = [16, 250];

/** How many checkpoints are read ahead, and how large they may be together, in bytes. */
const [AHEAD, AHEAD_BYTES] = [32, 8 * 2 ** 20];

/** The most hits that are reported for one checkpoint. */
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
  return new Search(context, pattern, wanted, onProgress).hits(() => {
    if (closing()) throw new ForkpointError("CLOSED", "the inspector was closed during a search");
    return signal?.aborted === true;
  });
}

/** A match, and the part of the checkpoint that has it. */
type Placed = Match & Pick<SearchHit, "part">;

/** Keys that are not stored, because the readers of values make them. */
const MADE_KEYS: Readonly<Record<string, readonly string[]>> = {
  helix: ["messages", "customState"],
  [SESSIONS]: ["messages", "customState", "staging", "runs", "subSessions", "status", "stepCount"],
  ai: ["messages"],
  "claude-agent-sdk": ["entries"],
  "openai-agents": ["items"],
};

/** A checkpoint to search. `history`: what was found in earlier checkpoints of its run, if all of them are searched. */
interface Target {
  row: Row;
  isNewest: boolean;
  isLastOfRun: boolean;
  history: History | undefined;
}

class Search {
  readonly #context: Context;
  readonly #pattern: Pattern;
  readonly #wanted: Wanted;
  readonly #onProgress: SearchOptions["onProgress"];
  readonly #progress: SearchProgress = { runs: 0, checkpoints: 0, hits: 0, unreadable: {}, damaged: 0 };

  constructor(context: Context, pattern: Pattern, wanted: Wanted, onProgress: SearchOptions["onProgress"]) {
    this.#context = context;
    this.#pattern = pattern;
    this.#wanted = wanted;
    this.#onProgress = onProgress;
  }

  async *hits(isStopped: () => boolean): AsyncGenerator<SearchHit, void, void> {
    const { limit = Number.POSITIVE_INFINITY } = this.#wanted;
    for await (const { target, found } of ahead(this.#targets(), (target) => this.#read(target))) {
      if (isStopped()) return;
      for (const match of await this.#search(target, found)) {
        this.#progress.hits += 1;
        yield hitOf(this.#context, target, match);
        if (isStopped()) return;
        if (this.#progress.hits >= limit) return this.#tell();
      }
      this.#progress.checkpoints += 1;
      if (target.isLastOfRun) this.#progress.runs += 1;
      this.#tell();
    }
    this.#tell();
  }

  #tell(): void {
    this.#onProgress?.({ ...this.#progress, unreadable: { ...this.#progress.unreadable } });
  }

  /** Lists the checkpoints to search, those of the run that was active last first. */
  async *#targets(): AsyncGenerator<Target> {
    const { status, label = {}, allSteps } = this.#wanted;
    for await (const keys of this.#runs()) {
      const wanted = keys.map((key) => ({ ...key, from: "end" as const, newestFirst: true, limit: 1, sums: false }));
      const lineups = await readLineups(this.#context, wanted);
      for (const [at, lineup] of lineups.entries()) {
        const row = lineup.current ?? lineup.page.rows[0];
        const isWanted =
          (status === undefined || lineup.status === status) &&
          Object.entries(label).every(([key, value]) => lineup.labels[key] === value);
        if (row === undefined || !isWanted) continue;
        if (allSteps === true) yield* this.#history(keys[at]!, row);
        else yield { row, isNewest: true, isLastOfRun: true, history: undefined };
      }
    }
  }

  /** Lists the checkpoints of a run, the oldest first, because a place is reported where it was saved first. */
  async *#history(key: Key, newest: Row): AsyncGenerator<Target> {
    const history = new History();
    const isCurrent = newest.space === SESSIONS;
    for await (const row of everyRow(this.#context, key)) {
      const isNewest = row.seq === newest.seq;
      yield { row, isNewest, isLastOfRun: isNewest, history };
    }
    // The current state of a session is no checkpoint of it.
    if (isCurrent) yield { row: newest, isNewest: true, isLastOfRun: true, history };
  }

  async *#runs(): AsyncGenerator<Key[]> {
    const { space, run, ns, status, label } = this.#wanted;
    const spaces = contractsOf(space);
    // A session of Helix is in two lists. Only its runs are remembered.
    const seen = new Set<string>();
    const isFirst = (key: Key): boolean => {
      if (run === undefined && key.space !== "helix") return true;
      const name = JSON.stringify(key);
      return !seen.has(name) && seen.add(name) !== undefined;
    };
    const isWanted = (found: FoundRun): boolean =>
      (run === undefined || found.run === run) && (ns === undefined || (shownNs(found.space, found.ns) ?? "") === ns);
    const statuses = status && [status];
    const fields = { spaces, matching: run ?? "", statuses, labels: label };
    if (run !== undefined) {
      // Found by its name. The list below has its namespaces.
      const keys = spaces.filter((each) => each !== SESSIONS).map((each): Key => ({ space: each, run, ns: ns ?? "" }));
      yield keys.filter(isFirst);
    }
    let after: number | undefined;
    for (const limit of [FIRST, LATER]) {
      for await (const found of recentRuns(this.#context, { ...fields, after, limit })) {
        const keys = found.filter(isWanted).map((each): Key => {
          return { space: spaceOf(each.space), run: each.run, ns: each.ns ?? "" };
        });
        yield keys.filter(isFirst);
        after = found.at(-1)!.position;
        if (limit === FIRST) break;
      }
      if (after === undefined) return;
    }
  }

  /** Reads the bytes of a checkpoint. Null: it was removed, or cannot be read. */
  async #read({ row }: Target): Promise<FoundCheckpoint | null> {
    try {
      return await readFound(this.#context, row);
    } catch (error) {
      if (!(error instanceof ForkpointError) || !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
      this.#progress.damaged += 1;
      return null;
    }
  }

  async #search(target: Target, found: FoundCheckpoint | null): Promise<Placed[]> {
    if (found === null) return [];
    const parts = partsOf(found);
    const { history } = target;
    const fresh = history === undefined ? parts : history.freshOf(parts);
    for (const part of fresh) if (!this.#isReadable(part)) this.#count(part.tag);
    let matches: Placed[] = [];
    if (this.#mayMatch(target.row, parts, fresh)) matches = await this.#matches(target, found);
    if (history === undefined) detachBuffers(...parts);
    else {
      history.keep(parts);
      matches = history.newOf(matches);
    }
    return matches;
  }

  #isReadable({ tag }: Stored): boolean {
    return builtInFormat(tag) !== undefined || this.#context.formats.has(tag) || tag === "bytes";
  }

  #count(tag: string): void {
    const { unreadable } = this.#progress;
    unreadable[tag] = (Object.hasOwn(unreadable, tag) ? unreadable[tag]! : 0) + 1;
  }

  /** Looks for the text in the bytes of a checkpoint, which takes much less time than to read its values. */
  #mayMatch(row: Row, parts: readonly Part[], fresh: readonly Part[]): boolean {
    const { space, label, meta } = row;
    if (fresh.length === 0 && parts.length > 0) return false;
    // The texts of a stream are joined, and so are the records of its parts. A write may be stored with another checkpoint.
    if (space === "ai-streams" || (space === "tinyagents" && row.id.includes("\0"))) return true;
    const names = Object.hasOwn(MADE_KEYS, space) ? [...MADE_KEYS[space]!] : [];
    if (space === "langgraph") for (const { name } of parts) names.push(channelOf(name) ?? "");
    if (space === SESSIONS) names.push(label ?? "", String(meta?.["stepCount"]));
    if (names.some((name) => this.#pattern.find(name) !== null)) return true;
    return fresh.some((part) => this.#isReadable(part) && this.#pattern.mayBeIn(part));
  }

  async #matches({ row, isNewest }: Target, found: FoundCheckpoint): Promise<Placed[]> {
    const { state, rest } = readValues(this.#context, row, found);
    const writes = await readWrites(this.#context, row, found);
    // Parts without their serializers are counted already.
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
        // The other writes to earlier checkpoints are in the states that follow.
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

/** What was found in the checkpoints of a run so far. */
class History {
  #parts: Part[] = [];
  /** How often a checkpoint had each place, at most. */
  readonly #counts = new Map<string, number>();

  /** Returns the parts that the checkpoint before does not have. */
  freshOf(parts: readonly Part[]): Part[] {
    return parts.filter(
      ({ tag, bytes }) =>
        !this.#parts.some(
          (each) =>
            each.tag === tag && each.bytes.byteLength === bytes.byteLength && Buffer.compare(each.bytes, bytes) === 0,
        ),
    );
  }

  keep(parts: Part[]): void {
    detachBuffers(...this.#parts);
    this.#parts = parts;
  }

  /** Returns the matches at places that no earlier checkpoint has. */
  newOf(matches: readonly Placed[]): Placed[] {
    const counts = new Map<string, number>();
    return matches.filter((match) => {
      const name = nameOf(match.part, match);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count <= (this.#counts.get(name) ?? 0)) return false;
      this.#counts.set(name, count);
      return true;
    });
  }
}

function hitOf(context: Context, { row }: Target, { part, path, inKey, snippet }: Placed): SearchHit {
  const info = infoOf(context, row, undefined, undefined);
  const { space, run, ns, id, step, savedAt } = info;
  return { space, run, ns, id, step, label: stepName(info), savedAt, part, path, inKey, snippet };
}

/** Reads some targets ahead, and yields what was read in their order. */
async function* ahead(
  targets: AsyncIterable<Target>,
  read: (target: Target) => Promise<FoundCheckpoint | null>,
): AsyncGenerator<{ target: Target; found: FoundCheckpoint | null }> {
  const queue: Array<{ target: Target; reading: Promise<FoundCheckpoint | null> }> = [];
  let bytes = 0;
  const next = async () => {
    const { target, reading } = queue.shift()!;
    bytes -= target.row.logical;
    return { target, found: await reading };
  };
  for await (const target of targets) {
    const reading = read(target);
    // It rejects where it is awaited, or nowhere if the search ends before.
    reading.catch(() => {});
    queue.push({ target, reading });
    bytes += target.row.logical;
    const isFull = () => queue.length >= AHEAD || (bytes > AHEAD_BYTES && queue.length > 0);
    while (isFull()) yield await next();
  }
  while (queue.length > 0) yield await next();
}
