// The data of the search in states: reads the hits during the search.
import { batch, signal } from "@preact/signals";
import { type Trouble, request, troubleOf } from "./api.js";
import type { GrepLine } from "../grep-line.js";

type Hit = Extract<GrepLine, { type: "hit" }>;
export type Progress = Omit<Extract<GrepLine, { type: "progress" }>, "type">;

export interface FoundHit extends Hit {
  key: string;
}

/** At this number of hits, the search waits until the user wants more. */
const PAGE = 200;

export const hits = signal<readonly FoundHit[]>([]);
export const progress = signal<Progress | null>(null);
/** `waiting`: there may be more hits, but the list is long enough. */
export const state = signal<"idle" | "running" | "waiting" | "stopped" | "done">("idle");
export const trouble = signal<Trouble | null>(null);
export const selected = signal(0);

let asking = new AbortController();
let asked = "";
let room = PAGE;
let goOn = () => {};

/** Ends the search, and keeps its hits. */
export function stop(): void {
  asking.abort();
  goOn();
  if (state.value === "running" || state.value === "waiting") state.value = "stopped";
}

/** Continues a waiting search. */
export function more(): void {
  room += PAGE;
  goOn();
}

/** Begins a search. A repeated search shows its earlier hits, for the Back button, unless `again` is true. */
export async function begin(parameters: Record<string, string>, again = false): Promise<void> {
  const key = JSON.stringify(parameters);
  if (key === asked && !again) return;
  stop();
  asked = key;
  asking = new AbortController();
  room = PAGE;
  const { signal: own } = asking;
  batch(() => {
    hits.value = [];
    progress.value = null;
    trouble.value = null;
    selected.value = 0;
    state.value = (parameters["text"] ?? "") === "" ? "idle" : "running";
  });
  if (state.value === "idle") return;
  try {
    const response = await request("grep", parameters, { signal: own });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (state.value === "running") {
      const { done, value } = await reader.read();
      if (own.aborted) return;
      if (done) throw new Error("the studio ended the search");
      const texts = (rest + value).split("\n");
      rest = texts.pop()!;
      const lines = texts.map((line) => JSON.parse(line) as GrepLine);
      // A slow browser gets many hits together.
      while (lines.length > 0) {
        batch(() => take(lines.splice(0, linesWith(lines, room - hits.value.length))));
        // The server waits while the page does not read.
        if (hits.value.length >= room && state.value === "running") {
          state.value = "waiting";
          await new Promise<void>((resolve) => (goOn = resolve));
          if (own.aborted) return;
          state.value = "running";
        }
      }
    }
  } catch (error) {
    if (own.aborted) return;
    batch(() => {
      trouble.value = troubleOf(error);
      state.value = "stopped";
    });
  }
}

/** Returns the number of lines with at most this many hits. */
function linesWith(lines: readonly GrepLine[], most: number): number {
  let found = 0;
  const end = lines.findIndex(({ type }) => type === "hit" && ++found > most);
  return end === -1 ? lines.length : end;
}

function take(lines: readonly GrepLine[]): void {
  const found: FoundHit[] = [];
  for (const line of lines) {
    if (line.type === "hit") found.push({ ...line, key: String(hits.value.length + found.length) });
    else if (line.type === "error") throw Object.assign(new Error(line.error.message), line.error);
    else {
      progress.value = line;
      if (line.type === "done") state.value = "done";
    }
  }
  if (found.length > 0) hits.value = [...hits.value, ...found];
}
