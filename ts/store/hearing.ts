/**
 * Hears of changes of leases by other processes. Only a server can tell of them, and only on a direct connection: all
 * callers must also look from time to time.
 */

import type { NativeStore } from "../bridge/native.js";
import { wakeAll, wakeStore } from "./wake.js";

/** How long a store still listens when nobody needs that any more, in ms. Then it closes the connection. */
const GRACE = 10_000;

/** A store that listens, or has listened. */
interface Hearing {
  users: number;
  /** True while the store hears every change. */
  works: boolean;
  stop: (() => void) | undefined;
  /** Ends the grace. */
  timer: NodeJS.Timeout | undefined;
}

const hearings = new WeakMap<object, Hearing>();

/** Returns true while the store hears every change, so that looking is needed only in case of a fault. */
export const hears = (native: NativeStore): boolean => hearings.get(native.handle)?.works === true;

/** Wakes calls when other processes change a lease, until the returned function is called. */
export function hear(native: NativeStore): () => void {
  const hearing = hearings.get(native.handle) ?? { users: 0, works: false, stop: undefined, timer: undefined };
  hearings.set(native.handle, hearing);
  hearing.users += 1;
  clearTimeout(hearing.timer);
  hearing.stop ??= native.listen(({ works, of }) => {
    if (works !== undefined) hearing.works = works;
    if (of) wakeAll(native, of);
    // What has changed before it worked, or since it stopped, may have been missed.
    else wakeStore(native);
  });
  return () => {
    hearing.users -= 1;
    if (hearing.users > 0) return;
    hearing.timer = setTimeout(() => {
      hearing.stop?.();
      [hearing.stop, hearing.works] = [undefined, false];
    }, GRACE).unref();
  };
}
