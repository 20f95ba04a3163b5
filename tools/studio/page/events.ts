// Notifies the page of new saves. `EventSource` can't send the token, so the stream is read with `fetch`.
import { signal } from "@preact/signals";
import { type CheckpointInfo, type RunRef, request, whenOpen } from "./api.js";
import { type ServerEvent, eventReader } from "./event-reader.js";

/** Whether the stream of events is open. */
export const live = signal(false);

/** An event for listeners. `again`: events may have been missed or data removed, so the listener must reload. */
export type Heard =
  { type: "saved"; checkpoint: CheckpointInfo } | { type: "effect"; effect: RunRef } | { type: "again" };

const listeners = new Set<(heard: Heard) => void>();

/** Calls the listener for each event. Returns a function that removes the listener. */
export function listen(listener: (heard: Heard) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Calls the listener once per burst of events, `pause` ms after its first one. Returns a function that removes it. */
export function listenAfter(pause: number, listener: () => void): () => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const end = listen(() => {
    waiting ??= setTimeout(() => {
      waiting = undefined;
      listener();
    }, pause);
  });
  return () => {
    clearTimeout(waiting);
    end();
  };
}

function tell(heard: Heard): void {
  for (const listener of listeners) listener(heard);
}

let last: string | undefined;
let stopped: AbortController | undefined;

/** Opens the stream, and reopens it when it ends. */
export async function hear(): Promise<void> {
  stopped?.abort();
  const own = new AbortController();
  stopped = own;
  let pause = 500;
  let isFirst = true;
  for (;;) {
    try {
      const headers: Record<string, string> = last === undefined ? {} : { "Last-Event-ID": last };
      const response = await request("events", {}, { headers, signal: own.signal });
      live.value = true;
      pause = 500;
      whenOpen.resolve();
      // Events such as removals were missed before a reconnect, so the page reloads its data.
      if (!isFirst) tell({ type: "again" });
      const read = eventReader(take);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        read(value);
      }
    } catch {
      // The next round tries again.
    }
    whenOpen.resolve();
    isFirst = false;
    if (own.signal.aborted) return;
    live.value = false;
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 10_000);
  }
}

function take({ id, event, data }: ServerEvent): void {
  if (id !== undefined) last = id;
  if (event === "saved")
    tell({ type: "saved", checkpoint: (JSON.parse(data) as { checkpoint: CheckpointInfo }).checkpoint });
  if (event === "effect") tell({ type: "effect", effect: (JSON.parse(data) as { effect: RunRef }).effect });
  if (event === "changed") tell({ type: "again" });
}
