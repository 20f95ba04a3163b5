/**
 * Requests about the lease of a run: a process waits for the lease, or asks its holder to stop. They are stored, so that
 * every process sees them, in the order of their arrival.
 */

import { ForkpointError, type StoppedBy, isForkpointError, quote } from "../bridge/errors.js";
import { hasEnded, thisProcess } from "../bridge/holder.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { type Asked, type LeaseRequest, leaseCalls } from "./lease-wire.js";
import { hear, hears } from "./hearing.js";
import { onWake, wakeAll } from "./wake.js";

/** A request of a process that gives no sign of life for this time does not count, in ms. */
const REQUEST_TTL = 30_000;

/** How often a process looks at the leases for which it waits, and at the requests about those that it holds, in ms. */
const intervals = {
  file: { poll: 20, look: 200 },
  server: { poll: 250, look: 400 },
  /** A server that tells of changes. Looking is for what it may fail to tell. */
  heard: { poll: 1_000, look: 2_000 },
};
const unheard = ({ backend }: NativeStore) => (backend === "postgres" ? intervals.server : intervals.file);
const intervalsOf = (native: NativeStore) => (hears(native) ? intervals.heard : unheard(native));

/** How long a process that waits sleeps before it looks again, in ms. */
export const pollMs = (native: NativeStore): number => intervalsOf(native).poll;

/** Returns true if the process of a request may still be alive. */
export const isLive = ({ valid, holder }: LeaseRequest): boolean => valid && !hasEnded(holder);

/** Returns the request that gets the lease next. A request that stops the holder goes first. */
export function nextOf(requests: readonly LeaseRequest[]): LeaseRequest | undefined {
  const waiting = requests.filter((each) => each.what !== "stop" && isLive(each));
  return waiting.find(({ what }) => what !== "enqueue") ?? waiting[0];
}

/** What a process asks for. */
export type Wish = Pick<Asked, "what" | "lease" | "by" | "reason">;

/** A stored request of this process. */
export class OwnRequest {
  readonly id: string;
  readonly #native: NativeStore;
  readonly #of: RunKey;
  #renewedAt = performance.now();

  private constructor(native: NativeStore, of: RunKey, id: string) {
    [this.#native, this.#of, this.id] = [native, of, id];
  }

  static async store(native: NativeStore, of: RunKey, id: string, wish: Wish): Promise<OwnRequest> {
    const savedAt = await leaseCalls.call(native, "clock", {});
    const asked = { ...wish, holder: thisProcess(), ttl: REQUEST_TTL };
    await leaseCalls.call(native, "ask", { of, id, asked, savedAt });
    wakeAll(native, of);
    return new OwnRequest(native, of, id);
  }

  /** Shows that this process is alive, if that is due. */
  async renew(): Promise<void> {
    if (performance.now() - this.#renewedAt < REQUEST_TTL / 3) return;
    const savedAt = await leaseCalls.call(this.#native, "clock", {});
    await leaseCalls.call(this.#native, "wait", { id: this.id, savedAt });
    this.#renewedAt = performance.now();
  }

  /** Removes the request. If that fails, it expires. */
  async withdraw(): Promise<void> {
    await leaseCalls.call(this.#native, "withdraw", { ids: [this.id] }).catch(() => {});
    wakeAll(this.#native, this.#of);
  }
}

/** The error of a run that was stopped. */
export function stoppedError({ run }: RunKey, stopped: StoppedBy): ForkpointError {
  const how = { stop: "was stopped", interrupt: "was interrupted", rollback: "was rolled back" }[stopped.kind];
  const by = stopped.by === null ? "" : ` by ${stopped.by}`;
  const why = stopped.reason === null ? "" : `: ${stopped.reason}`;
  const newer = stopped.kind === "stop" ? "" : ", because a newer request took its place";
  return new ForkpointError("STOPPED", `run ${quote(run)} ${how}${by}${newer}${why}`, { stopped });
}

/** A lease whose holder listens to requests. */
export interface Listener {
  readonly of: RunKey;
  readonly id: string;
  asked(request: LeaseRequest): void;
}

/** The listeners of a store, and what looks for their requests. */
interface Watch {
  listeners: Map<Listener, () => void>;
  timer: NodeJS.Timeout | undefined;
  /** Stops hearing of other processes. */
  deafen: (() => void) | undefined;
  /** True while it looks. `again`: something has changed meanwhile. */
  looks: boolean;
  again: boolean;
}

const watches = new WeakMap<object, Watch>();

const newWatch = (): Watch => ({
  listeners: new Map(),
  timer: undefined,
  deafen: undefined,
  looks: false,
  again: false,
});

/** Tells a listener of the requests to stop its run, until the returned function is called. */
export function listen(native: NativeStore, listener: Listener): () => void {
  const watch = watches.get(native.handle) ?? newWatch();
  watches.set(native.handle, watch);
  watch.listeners.set(
    listener,
    onWake(native, listener.of, () => void look(native, watch)),
  );
  // The first look finds requests that came before this call. Most leases end before it, and need no connection that
  // listens.
  watch.timer ??= later(native, watch, unheard(native).look);
  return () => {
    watch.listeners.get(listener)?.();
    watch.listeners.delete(listener);
    if (watch.listeners.size > 0) return;
    clearTimeout(watch.timer);
    watch.deafen?.();
    [watch.timer, watch.deafen] = [undefined, undefined];
  };
}

/** Looks after `ms`, and then again and again. */
function later(native: NativeStore, watch: Watch, ms: number): NodeJS.Timeout {
  const next = () => {
    watch.deafen ??= hear(native);
    watch.timer = later(native, watch, intervalsOf(native).look);
    void look(native, watch);
  };
  return setTimeout(next, ms).unref();
}

/** Reads all requests. There are only as many as waiting calls. */
async function look(native: NativeStore, watch: Watch): Promise<void> {
  watch.again = watch.looks;
  if (watch.looks) return;
  watch.looks = true;
  try {
    const requests = await leaseCalls.call(native, "requests", {});
    for (const listener of watch.listeners.keys()) {
      const stop = requests.find((request) => isFor(listener, request));
      if (stop !== undefined) listener.asked(stop);
    }
  } catch (error) {
    // The next look tries again. A closed store has no runs.
    if (!isForkpointError(error)) throw error;
  } finally {
    watch.looks = false;
    if (watch.again && watch.listeners.size > 0) void look(native, watch);
  }
}

function isFor({ of, id }: Listener, { of: about, what, lease, valid }: LeaseRequest): boolean {
  if (!valid || what === "enqueue" || about.space !== of.space || about.run !== of.run || about.ns !== of.ns)
    return false;
  return what === "stop" ? lease === id : true;
}
