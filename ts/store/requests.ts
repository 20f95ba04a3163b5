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

/**
 * How long a process that waits sleeps before it looks again, in ms. `before` is the number of requests before its own:
 * later ones need not look as often.
 */
export function pollMs(native: NativeStore, before = 0): number {
  const { poll, look } = intervalsOf(native);
  return native.backend === "postgres" ? poll : Math.min(poll * (1 + before), look);
}

/** Returns true if the process of a request may still be alive. */
export const isLive = ({ valid, holder }: LeaseRequest): boolean => valid && !hasEnded(holder);

/** Returns the request that gets the lease next. A request that stops the holder goes first. */
export function nextOf(requests: readonly LeaseRequest[]): LeaseRequest | undefined {
  return inOrder(requests)[0];
}

/** Returns how many requests get the lease before one. */
export function countBefore(requests: readonly LeaseRequest[], own: string): number {
  const at = inOrder(requests).findIndex(({ id }) => id === own);
  return Math.max(at, 0);
}

/** The requests for the lease in the order in which they get it. */
function inOrder(requests: readonly LeaseRequest[]): LeaseRequest[] {
  const waiting = requests.filter((each) => each.what !== "stop" && isLive(each));
  const [stopping, queued] = [false, true].map((is) => waiting.filter(({ what }) => (what === "enqueue") === is));
  return [...stopping!, ...queued!];
}

/** What a process asks for. */
export type Wish = Pick<Asked, "what" | "lease" | "by" | "reason">;

/** A stored request of this process. */
export class OwnRequest {
  readonly id: string;
  readonly #native: NativeStore;
  readonly #of: RunKey;
  readonly #wish: Wish;
  #timer: NodeJS.Timeout | undefined;
  /** Since when the request looks expired although it was renewed, on the monotonic clock. */
  #expiredSince: number | undefined;

  private constructor(native: NativeStore, of: RunKey, id: string, wish: Wish) {
    [this.#native, this.#of, this.id, this.#wish] = [native, of, id, wish];
  }

  /** Stores a request. It is renewed until {@link end}. */
  static async store(native: NativeStore, of: RunKey, id: string, wish: Wish): Promise<OwnRequest> {
    const request = new OwnRequest(native, of, id, wish);
    try {
      await request.#ask();
    } catch (error) {
      // It may be stored.
      await request.withdraw();
      throw error;
    }
    // Looks may take long in a busy process, so they are no sign of life.
    request.#timer = setInterval(() => void request.#renew().catch(() => {}), REQUEST_TTL / 3).unref();
    return request;
  }

  async #ask(): Promise<void> {
    const savedAt = await leaseCalls.call(this.#native, "clock", {});
    const { what, lease, by, reason } = this.#wish;
    const asked = { what, lease, by, reason, holder: thisProcess(), ttl: REQUEST_TTL };
    await leaseCalls.call(this.#native, "ask", { of: this.#of, id: this.id, asked, savedAt });
    this.#expiredSince = undefined;
    wakeAll(this.#native, this.#of);
  }

  /** Shows that this process is alive. */
  async #renew(): Promise<void> {
    const savedAt = await leaseCalls.call(this.#native, "clock", {});
    await leaseCalls.call(this.#native, "wait", { id: this.id, savedAt });
  }

  /** Renews the request if it looks expired because the clock was set. `all` are the requests about the run. */
  async checkClock(all: readonly LeaseRequest[]): Promise<void> {
    const at = all.findIndex(({ id }) => id === this.id);
    const own = all[at];
    if (own === undefined || own.valid) return;
    this.#expiredSince ??= performance.now();
    const now = await leaseCalls.call(this.#native, "clock", {});
    if (own.savedAt <= now) return this.#renew();
    // `wait` sets no earlier time. The request goes to the end of the queue, but after all that were before it.
    const isLate = performance.now() - this.#expiredSince > REQUEST_TTL / 3;
    if (isLate || !all.slice(0, at).some(({ valid, holder }) => !valid && !hasEnded(holder))) await this.#ask();
  }

  /** Renews the request no more. */
  end(): void {
    clearInterval(this.#timer);
  }

  /** Removes the request. If that fails, it expires. */
  async withdraw(): Promise<void> {
    this.end();
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
  /** Called after each look for requests. */
  looked(): void;
}

/** The listeners of a store, and what looks for their requests. */
interface Watch {
  listeners: Map<Listener, () => void>;
  timer: NodeJS.Timeout | undefined;
  /** Stops hearing of other processes. */
  deafen: (() => void) | undefined;
  /** The requests that looked expired, and since when, on the monotonic clock. */
  expired: Map<string, number>;
  /** True while it looks. `again`: something has changed meanwhile. */
  looks: boolean;
  again: boolean;
}

const watches = new WeakMap<object, Watch>();

const newWatch = (): Watch => ({
  listeners: new Map(),
  timer: undefined,
  deafen: undefined,
  expired: new Map(),
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
      for (const request of requests) if (isFor(listener, request)) listener.asked(request);
      listener.looked();
    }
    await removeLeft(native, watch, requests);
  } catch (error) {
    // The next look tries again. A closed store has no runs.
    if (!isForkpointError(error)) throw error;
  } finally {
    watch.looks = false;
    if (watch.again && watch.listeners.size > 0) void look(native, watch);
  }
}

/** Removes the requests that processes have left behind. One of a run that nobody takes any more would stay. */
async function removeLeft(native: NativeStore, watch: Watch, requests: LeaseRequest[]): Promise<void> {
  const now = performance.now();
  const old = requests.filter(({ valid }) => !valid).map(({ id }) => [id, watch.expired.get(id) ?? now] as const);
  watch.expired = new Map(old);
  const isLeft = ({ id, holder, what, valid }: LeaseRequest) =>
    // A clock that was set makes requests look expired until their next renewal.
    now - (watch.expired.get(id) ?? now) > REQUEST_TTL || (hasEnded(holder) && (what !== "stop" || !valid));
  const ids = requests.filter(isLeft).map(({ id }) => id);
  if (ids.length > 0) await leaseCalls.call(native, "withdraw", { ids });
}

function isFor({ of, id }: Listener, request: LeaseRequest): boolean {
  const { of: about, what, lease, valid } = request;
  if (about.space !== of.space || about.run !== of.run || about.ns !== of.ns) return false;
  // A request to stop counts after its process has ended. The other ones make room for a process.
  if (what === "stop") return valid && lease === id;
  return what !== "enqueue" && isLive(request);
}
