/** Runs that wait for a person. Rules about age leave them. */

import type { NativeStore } from "../../bridge/native.js";
import { newestOf } from "../../plugin/pages.js";
import { type Key, inspect, openPages } from "../../plugin/wire.js";

/** Returns true if the run waits for a person. */
export async function isWaiting(native: NativeStore, of: Key): Promise<boolean> {
  const [page] = await inspect.find(native, "rows", { pages: [newestOf(of)] }, openPages);
  return page?.status === "waiting";
}
