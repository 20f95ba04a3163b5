/** Verifies everything that is stored. */

import type { Engine } from "./engine.js";
import { ForkpointError } from "../bridge/errors.js";
import { readRecord } from "./options.js";
import { stepOptions } from "./retention.js";
import { storeCalls, type VerifyReport } from "../bridge/wire.js";

/** Options of `check()`. */
export interface CheckOptions {
  /** Stops the check between two pages. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Called after each page with the number of verified rows and the approximate number of all rows. If this function
   * throws, the check stops with that error.
   */
  onProgress?: (done: number, of: number) => void;
}

/** The number of rows in a page. Between two pages, the check tests whether its signal was aborted. */
const PAGE = 1000;

export async function check({ native }: Engine, options: unknown, closing: () => boolean): Promise<VerifyReport> {
  const { signal, onProgress } = readRecord(options, "options", stepOptions) as CheckOptions;
  const report: VerifyReport = {
    ok: true,
    checked: { checkpoints: 0, payloads: 0, writes: 0, records: 0 },
    findings: [],
  };
  let cursor: string | undefined;
  do {
    if (closing()) throw new ForkpointError("CLOSED", "the store was closed before the check ended");
    signal?.throwIfAborted();
    const page = await storeCalls.call(native, "check", { cursor, limit: PAGE });
    const { checked } = report;
    checked.checkpoints += page.checked.checkpoints;
    checked.payloads += page.checked.payloads;
    checked.writes += page.checked.writes;
    checked.records += page.checked.records;
    report.findings.push(...page.findings);
    onProgress?.(page.done, page.of);
    cursor = page.next ?? undefined;
    // Let the event loop turn. Otherwise a store that answers immediately would give the caller no chance to abort.
    await new Promise((resolve) => setImmediate(resolve));
  } while (cursor !== undefined);
  report.ok = report.findings.every(({ severity }) => severity !== "error");
  return report;
}
