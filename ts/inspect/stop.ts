/** Stops a run that any process works on. */

import { ForkpointError, quote } from "../bridge/errors.js";
import { StoreHandle } from "../store/handle.js";
import { leaseOfRun } from "../store/lease.js";
import { readRecord } from "../store/options.js";
import { stopOptions } from "../store/stop.js";
import type { StopResult } from "../store/results.js";
import { traitsOf } from "../contracts/registry.js";
import { newestOf } from "../plugin/pages.js";
import type { Key } from "../plugin/wire.js";
import { type Context, hasSubgraphs } from "./context.js";
import { readLineups } from "./rows.js";

export async function stop(context: Context, key: Key, given: unknown): Promise<StopResult> {
  const options = readRecord(given, "options", stopOptions);
  const { space, run } = key;
  const { leases = true, namespaces } = traitsOf(space);
  if (!leases)
    throw new ForkpointError("UNSUPPORTED", `no process works on a run of ${space}, so it cannot be stopped`);
  // A thread is stopped with all of its subgraphs.
  const of = { space, run, ns: hasSubgraphs(space) ? "" : key.ns };
  const { native } = context.engine;
  const lease = await leaseOfRun(native, of);
  if (lease === null) {
    const [lineup] = await readLineups(context, [newestOf(of)]);
    if (lineup!.total === 0) throw new ForkpointError("NOT_FOUND", `there is no run ${quote(run)} in ${space}`);
  }
  // A process may have leased the run without its namespace.
  const mayBeWhole = lease === null && namespaces === "part";
  const isWhole = mayBeWhole && (await leaseOfRun(native, { space, run, ns: "" })) !== null;
  const name = of.ns === "" || isWhole ? run : { run, ns: of.ns };
  return new StoreHandle(context.store, undefined, { name: space }).stop(name, { ...options });
}
