// The tokens of the rows in view or, if the runs are sorted by tokens or costs, of all listed runs.
import { computed, signal } from "@preact/signals";
import { type UsageSort, sortByUsage } from "../../../ts/inspect/conversation/usage-order.js";
import type { RunTokens } from "../usage-answer.js";
import { api } from "./api.js";
import { address } from "./route.js";
import * as list from "./runs-data.js";

/** The pause before the tokens of the rows in view are read, in ms. Rows that are scrolled past are skipped. */
const REST = 120;

/** The pause before the tokens of a run are read again after a save, in ms. */
const PAUSE = 2_000;

interface Known {
  /** The newest checkpoint at the read. */
  seq: number;
  /** The time of the read, in ms since the epoch. */
  at: number;
  tokens: RunTokens | null;
}

const known = new Map<string, Known>();
/** Counts the answers. */
const answers = signal(0);
/** The tokens that determine the order: those at the time when all listed runs' tokens were known. */
const ranks = signal<ReadonlyMap<string, Known>>(new Map());
let ranked = 0;
/** Whether runs have costs, because a file of prices was given. */
export const hasCosts = signal(false);
/** Whether the last request has failed. */
export const hasFailed = signal(false);

/** The sort key, if it is tokens or costs. Null: another one. */
export const sort = computed((): UsageSort | null => {
  const name = address.value.parameters["sort"];
  return name === "tokens" || name === "cost" ? name : null;
});

/** The rows in display order. Rows without tokens come last, the last active one first. */
export const shown = computed(() => {
  const by = sort.value;
  const of = ranks.value;
  return by === null
    ? list.rows.value
    : sortByUsage(list.rows.value, by, ({ key }) => of.get(key)?.tokens?.total ?? null);
});

/** Returns the tokens of a run. Undefined: not yet read. Null: the run can't be read. */
export function tokensOf(key: string): RunTokens | null | undefined {
  void answers.value;
  return known.get(key)?.tokens;
}

/** The number of listed runs whose tokens are not yet read. */
export const left = computed(() => list.rows.value.filter(({ key }) => tokensOf(key) === undefined).length);

/** On a narrow screen, the column is hidden. */
const wide = matchMedia("(min-width: 1001px)");
wide.addEventListener("change", () => look(inView));

let inView: readonly list.ListedRun[] = [];
let asking: { of: readonly list.ListedRun[]; own: AbortController } | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

const wanted = (): readonly list.ListedRun[] => {
  if (inView.length === 0) return [];
  return sort.value === null ? (wide.matches ? inView : []) : list.rows.value;
};

/** Reads the tokens of the rows in view. Cancels a request for rows that are no longer in view. */
export function look(rows: readonly list.ListedRun[]): void {
  inView = rows;
  const keys = new Set(wanted().map(({ key }) => key));
  if (asking !== null && !asking.of.some(({ key }) => keys.has(key))) asking.own.abort();
  wake(REST);
}

function wake(wait: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void read(), wait);
}

export async function read(): Promise<void> {
  if (asking !== null) return;
  if (sort.value !== null && left.value === 0 && ranked !== answers.value) {
    ranks.value = new Map(known);
    ranked = answers.value;
  }
  const stale = wanted().filter(({ key, info }) => known.get(key)?.seq !== info.latest.seq);
  const due = stale.filter(({ key }) => Date.now() - (known.get(key)?.at ?? 0) >= PAUSE);
  const of = due.slice(0, list.fittingKeys(due.map(({ key }) => key)));
  if (of.length === 0) {
    if (stale.length > 0) wake(PAUSE);
    return;
  }
  const own = new AbortController();
  asking = { of, own };
  try {
    const usages = await api.usages(
      of.map(({ info }) => info),
      own.signal,
    );
    for (const [at, tokens] of usages.entries()) {
      const { key, info } = of[at]!;
      if (tokens?.total?.cost != null) hasCosts.value = true;
      known.set(key, { seq: info.latest.seq, at: Date.now(), tokens });
    }
    answers.value += 1;
    hasFailed.value = false;
  } catch {
    hasFailed.value = !own.signal.aborted;
  }
  asking = null;
  // After an error, the next update or save reads again.
  if (!hasFailed.value) wake(0);
}
