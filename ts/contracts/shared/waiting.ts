/** Runs that wait for a person. Rules about age leave them. */

import type { NativeStore, RunKey } from "../../bridge/native.js";
import { storeCalls } from "../../bridge/wire.js";

/** Returns true if the run waits for a person. */
export const isWaiting = (native: NativeStore, { space, run }: Omit<RunKey, "ns">): Promise<boolean> =>
  storeCalls.call(native, "waits", { contract: space, run });
