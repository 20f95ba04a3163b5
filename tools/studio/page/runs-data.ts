// The data of the list of runs: its pages, the status of the visible rows, and new saves.
import { traitsOf } from "../../../ts/contracts/registry.js";
import { signal } from "@preact/signals";
import { MOST_MS, type RunInfo, type RunRef, type Trouble, api, troubleOf } from "./api.js";
import type { Heard } from "./events.js";
import { sinceOf } from "./since.js";
import { keyOf } from "./ui.js";

/** The filter of the list. An empty text matches all. */
export interface Filter {
  space: string;
  status: string;
  match: string;
  /** The version of the program, by its name or its hash. */
  version: string;
  /** Labels, each as `key=value`. */
  labels: string[];
  /** The maximum time since the last activity, such as `1h`. */
  since: string;
  sort: string;
  /** Whether subgraphs are listed. */
  nested: boolean;
}

export interface ListedRun {
  key: string;
  info: RunInfo;
  /** Whether the status and the size are up to date. */
  fresh: boolean;
  /** When the row moved up, in ms since the epoch. 0: never. */
  moved: number;
}

/** The first page fills the screen. Later pages are longer. */
const FIRST_PAGE = 60;
const PAGE = 250;

/** The maximum number of runs in a request, and of characters in their ids, which are in the URL. */
const BATCH = 40;
const BATCH_TEXT = 2_000;

export const rows = signal<readonly ListedRun[]>([]);
export const cursor = signal<string | null>(null);
export const loading = signal(true);
/** Whether the rows belong to the previous filter, because the new answer has not arrived. */
export const stale = signal(false);
/** Whether the user has stopped the listing. */
export const isStopped = signal(false);
export const trouble = signal<Trouble | null>(null);
/** The row selected by key. */
export const selected = signal<string | null>(null);

let filter: Filter = { space: "", status: "", match: "", version: "", labels: [], since: "", sort: "", nested: false };
let asking = new AbortController();

const queryOf = ({ space, status, match, version, labels, since, sort, nested }: Filter) => ({
  space: space || null,
  status: status || null,
  match: match || null,
  version: version || null,
  label: labels,
  since: sinceOf(since),
  // The page itself sorts by tokens and costs: see runs-usage.ts.
  sort: sort === "began" || sort === "size" ? sort : null,
  allNs: nested ? true : null,
});

const listed = (info: RunInfo): ListedRun => ({ key: keyOf(info), info, fresh: false, moved: 0 });

/** Requests a page of the list. Drops the answer if another request has started. */
async function ask(query: { limit: number; cursor?: string }, take: (page: RunInfo[]) => void): Promise<void> {
  const { signal: own } = asking;
  loading.value = true;
  isStopped.value = false;
  try {
    const next = { ...query, maxMs: MOST_MS };
    for (let add = take; ; add = append) {
      const page = await api.runs({ ...queryOf(filter), ...next }, own);
      if (own.aborted) return;
      add(page.runs);
      cursor.value = page.cursor;
      trouble.value = null;
      stale.value = false;
      next.limit -= page.runs.length;
      if (page.cursor === null || next.limit <= 0) break;
      next.cursor = page.cursor;
    }
  } catch (error) {
    if (own.aborted) return;
    if (query.cursor === undefined) rows.value = [];
    cursor.value = null;
    trouble.value = troubleOf(error);
  }
  stale.value = false;
  loading.value = false;
}

/** Shows the runs of a filter, starting with the first page. */
export async function load(asked: Filter): Promise<void> {
  if (JSON.stringify(asked) !== JSON.stringify(filter)) stale.value = true;
  filter = asked;
  asking.abort();
  asking = new AbortController();
  await ask({ limit: FIRST_PAGE }, (runs) => {
    const known = new Map(rows.value.map((row) => [row.key, row]));
    rows.value = runs.map((info) => {
      const before = known.get(keyOf(info));
      return before?.fresh && before.info.latest.seq === info.latest.seq ? before : listed(info);
    });
  });
}

export const reload = (): Promise<void> => load(filter);

function append(runs: readonly RunInfo[]): void {
  if (runs.length === 0) return;
  // A run that was active after the first page is already listed.
  const known = new Set(rows.value.map(({ key }) => key));
  rows.value = [...rows.value, ...runs.map(listed).filter(({ key }) => !known.has(key))];
}

export async function loadMore(): Promise<void> {
  if (loading.value || isStopped.value || cursor.value === null) return;
  await ask({ limit: PAGE, cursor: cursor.value }, append);
}

/** Stops a slow listing. Its results stay. */
export function stop(): void {
  asking.abort();
  asking = new AbortController();
  loading.value = false;
  stale.value = false;
  isStopped.value = true;
}

/** Continues a stopped listing. */
export async function resume(): Promise<void> {
  isStopped.value = false;
  await (cursor.value === null ? reload() : loadMore());
}

const wanted = new Map<string, RunRef>();
let timer: ReturnType<typeof setTimeout> | undefined;

function want(key: string, ref: RunRef, wait: number): void {
  wanted.set(key, ref);
  timer ??= setTimeout(() => void answer(), wait);
}

/** Requests the status and the size of the visible rows. */
export function look(visible: readonly ListedRun[]): void {
  for (const { key, info, fresh } of visible) if (!fresh) want(key, info, 20);
}

/** Updates the list after a save. */
export function hear(heard: Heard): void {
  if (heard.type === "again") {
    void reload();
    return;
  }
  if (heard.type === "effect") return;
  const { space, run, ns } = heard.checkpoint;
  const ref = { space, run, ns };
  // Several steps of a run within this time cause one update of its row.
  if (matches(ref)) want(keyOf(ref), ref, 150);
}

function matches({ space, run, ns }: RunRef): boolean {
  if (filter.space !== "" && space !== filter.space) return false;
  if (!run.includes(filter.match)) return false;
  return filter.nested || traitsOf(space).namespaces === "part" || !ns;
}

/** Returns how many of these runs fit in one request: at least one. */
export function fittingKeys(keys: readonly string[]): number {
  let text = 0;
  const end = keys.findIndex((key, at) => (text += key.length) > BATCH_TEXT && at > 0);
  return end === -1 ? BATCH : Math.min(end, BATCH);
}

async function answer(): Promise<void> {
  const batch = [...wanted].slice(0, fittingKeys([...wanted.keys()]));
  for (const [key] of batch) wanted.delete(key);
  const { signal: own } = asking;
  try {
    const infos = await api.someRuns(batch.map(([, ref]) => ref));
    if (!own.aborted) take(batch, infos);
  } catch {
    // The rows stay without a status until a later request succeeds.
  }
  timer = wanted.size === 0 ? undefined : setTimeout(() => void answer(), 20);
}

/** Compares versions like the inspector. A hash identifies a version without a name. */
function isVersion(version: RunInfo["version"], name: string): boolean {
  if (version === null || version.version === name) return version !== null;
  return version.version === null && name.length >= 4 && version.shape.startsWith(name);
}

function hasLabel(labels: RunInfo["labels"], label: string): boolean {
  return Object.entries(labels).some(([key, value]) => `${key}=${value}` === label);
}

function take(batch: ReadonlyArray<[string, RunRef]>, infos: ReadonlyArray<RunInfo | null>): void {
  const next = new Map(rows.value.map((row) => [row.key, row]));
  const newest = rows.value[0]?.info.active ?? 0;
  let moved: ListedRun[] = [];
  for (const [index, [key]] of batch.entries()) {
    const info = infos[index] ?? null;
    const before = next.get(key);
    const fits =
      info !== null &&
      (filter.status === "" || info.status === filter.status) &&
      (filter.version === "" || isVersion(info.version, filter.version)) &&
      filter.labels.every((label) => hasLabel(info.labels, label));
    if (!fits) {
      next.delete(key);
      continue;
    }
    const row = { key, info, fresh: true, moved: before?.moved ?? 0 };
    const isNewer = before === undefined || (info.active > before.info.active && filter.sort !== "began");
    if (isNewer && filter.sort !== "size" && info.active >= newest) {
      next.delete(key);
      moved.push({ ...row, moved: Date.now() });
    } else if (before !== undefined) next.set(key, row);
  }
  moved = moved.toSorted((a, b) => b.info.active - a.info.active);
  rows.value = [...moved, ...next.values()];
}
