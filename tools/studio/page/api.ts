// Sends requests to the studio's server.

import { credentials } from "./access.js";
import type { Match } from "../forms.js";
import type { Conversation } from "../../../ts/inspect/conversation/message.js";
import type { RunUsage } from "../../../ts/inspect/conversation/usage-views.js";
import type { UsagesAnswer } from "../usage-answer.js";
import type { CourseAnswer } from "../course-answer.js";
import type {
  Change,
  CheckpointDetail,
  CheckpointInfo,
  CheckpointRef,
  EffectDetail,
  EffectInfo,
  InspectedStats,
  RunInfo,
  RunRef,
  SavedPerHour,
  StoreInfo,
} from "../../../ts/plugin/views.js";
import type { AnsweredQuestion, Question } from "../../../ts/inspect/questions/views.js";
import type { StopResult } from "../../../ts/store/results.js";

export type * from "../../../ts/plugin/views.js";
export type { Question } from "../../../ts/inspect/questions/views.js";

/** An error in the server's answer. `OFFLINE`: the server did not answer. */
export class Trouble extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const troubleOf = (error: unknown): Trouble =>
  error instanceof Trouble ? error : new Trouble("PAGE", error instanceof Error ? error.message : String(error), 0);

export type Parameters = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** Returns the address of a route. Leaves out null and undefined parameters. A list has a parameter for each item. */
function addressOf(route: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    for (const each of typeof value === "object" ? value : [value]) query.append(name, String(each));
  }
  const text = query.toString();
  // Relative to the page, which may be below another program's path.
  return `api/v1/${route}${text === "" ? "" : `?${text}`}`;
}

/** Answers requests in place of the studio's server: see embedded/source.ts. */
export type Source = (route: string, parameters: Parameters) => Promise<Response>;

const own = (globalThis as { forkpointSource?: Source }).forkpointSource;

/** True if the page is a file with the data of a run. */
export const isFile = own !== undefined;

export async function request(route: string, parameters: Parameters = {}, init: RequestInit = {}): Promise<Response> {
  if (own !== undefined) return checked(await own(route, parameters));
  const access = credentials();
  const headers = { ...access.headers, ...(init.headers as Record<string, string> | undefined) };
  let response: Response;
  try {
    response = await fetch(addressOf(route, parameters), {
      ...init,
      credentials: access.credentials ?? "omit",
      headers,
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Trouble("OFFLINE", "the studio isn't responding", 0);
  }
  return checked(response);
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as { error?: { code: string; message: string } } | null;
  const { code = "UNKNOWN", message = `the studio answered ${response.status}` } = body?.error ?? {};
  throw new Trouble(code, message, response.status);
}

let open = () => {};
const opened = new Promise<void>((resolve) => (open = resolve));

/** Resolves when the event stream has opened or failed. Requests wait for it, so that the page misses no save. */
export const whenOpen = { resolve: () => open() };

async function get<T>(route: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  if (!isFile) await opened;
  signal?.throwIfAborted();
  return (await request(route, parameters, signal === undefined ? {} : { signal })).json() as Promise<T>;
}

/** Writes a list of runs for a request. */
const listOf = (refs: readonly RunRef[]): string =>
  JSON.stringify(refs.map(({ space, run, ns }) => [space, run, ns ?? null]));

/** The time limit after which an answer ends with the results so far, in ms. The next request continues. */
export const MOST_MS = 250;

export interface RunsPage {
  runs: RunInfo[];
  cursor: string | null;
}

export interface RunPage {
  run: RunInfo;
  checkpoints: CheckpointInfo[];
  forks: RunInfo[];
  /** The last begun effect comes first. */
  effects: EffectInfo[];
  cursor: string | null;
}

export interface Detail extends CheckpointDetail {
  hasMessages: boolean;
  moreWrites: number;
}

export interface Difference {
  from: CheckpointInfo | null;
  to: CheckpointInfo;
  changes: Change[];
  truncated: boolean;
}

export interface Forked {
  space: string;
  run: string;
  ns: string | null;
  id: string;
  changes?: Change[];
  truncated?: boolean;
}

const named = ({ space, run, ns }: RunRef): Parameters => ({ space, run, ns });

export const api = {
  info: () => get<StoreInfo>("info"),
  runs: (query: Parameters, signal: AbortSignal) => get<RunsPage>("runs", { ...query, withWhy: false }, signal),
  /** The runs with their status and size. */
  someRuns: async (refs: readonly RunRef[]) => {
    const { runs } = await get<{ runs: Array<RunInfo | null> }>("runs", { of: listOf(refs), withBytes: true });
    return runs;
  },
  run: (ref: RunRef, cursor: string | null, limit: number, signal: AbortSignal) =>
    get<RunPage>("run", { ...named(ref), cursor, limit }, signal),
  course: (ref: RunRef, signal: AbortSignal) => get<CourseAnswer>("course", named(ref), signal),
  namespaces: (ref: RunRef, signal: AbortSignal) =>
    get<RunsPage>("runs", { space: ref.space, match: ref.run, allNs: true, limit: 100, withWhy: false }, signal),
  checkpoint: (ref: RunRef, id: string | undefined, signal: AbortSignal) =>
    get<Detail>("checkpoint", { ...named(ref), id }, signal),
  /** Returns the value at a path, or a range of its entries, in the field `state` of the answer. */
  part: (ref: RunRef, id: string, part: string, path: string) =>
    get<Detail>("checkpoint", { ...named(ref), id, part, path, depth: 2 }),
  conversation: (ref: RunRef, id: string, query: Parameters, signal?: AbortSignal) =>
    get<Conversation>("conversation", { ...named(ref), id, ...query }, signal),
  usage: (ref: RunRef, signal: AbortSignal) => get<RunUsage>("usage", named(ref), signal),
  /** The tokens of the first of these runs. */
  usages: async (refs: readonly RunRef[], signal: AbortSignal) =>
    (await get<UsagesAnswer>("usage", { of: listOf(refs), maxMs: MOST_MS }, signal)).usages,
  effect: (of: EffectInfo, signal: AbortSignal) =>
    get<EffectDetail>("effect", { ...named(of), key: of.key, branch: of.branch }, signal),
  search: (ref: RunRef, id: string, part: string, text: string, signal: AbortSignal) =>
    get<{ matches: Match[]; truncated: boolean }>("search", { ...named(ref), id, part, text }, signal),
  /** Compares a checkpoint with its parent or with another one, which may be in another run. */
  diff: (ref: RunRef, from: CheckpointRef | null, to: string, signal: AbortSignal) => {
    const target = { to, toSpace: ref.space, toRun: ref.run, toNs: ref.ns };
    return get<Difference>(
      "diff",
      from === null ? { ...named(ref), to } : { ...named(from), from: from.id, ...target },
      signal,
    );
  },
  raw: async (ref: RunRef, id: string) => (await request("raw", { ...named(ref), id })).text(),
  stats: () => get<InspectedStats>("stats"),
  activity: async () => (await get<{ hours: SavedPerHour[] }>("activity")).hours,
  questions: (ref: RunRef, id: string | undefined, signal: AbortSignal) =>
    get<{ questions: Question[]; more: number }>("questions", { ...named(ref), id }, signal),
  /** Stops a run, and waits until it has ended. */
  stop: async (ref: RunRef, by: string, reason: string) => {
    const given = { ...named(ref), ns: ref.ns ?? null, ...(by !== "" && { by }), ...(reason !== "" && { reason }) };
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(given) };
    return (await request("stop", {}, init)).json() as Promise<StopResult>;
  },
  answer: async (ref: RunRef, answer: Record<string, unknown>) => {
    const body = JSON.stringify({ ...named(ref), ns: ref.ns ?? null, ...answer });
    const headers = { "Content-Type": "application/json" };
    return (await request("answer", {}, { method: "POST", headers, body })).json() as Promise<AnsweredQuestion>;
  },
  fork: async (ref: RunRef, id: string, edit: Record<string, unknown>, signal: AbortSignal | null) => {
    const body = JSON.stringify({ ...named(ref), ns: ref.ns ?? null, id, ...edit });
    const headers = { "Content-Type": "application/json" };
    return (await request("fork", {}, { method: "POST", headers, body, signal })).json() as Promise<Forked>;
  },
};
