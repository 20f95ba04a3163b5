/** Verifies everything that is stored. */

import type { Engine } from "./engine.js";
import { readRecord } from "./options.js";
import { betweenSteps, stepOptions, throwIfStopped } from "./retention.js";
import { storeCalls, type Finding, type VerifyReport } from "../bridge/wire.js";

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
const ENDED = "the check ended";

export async function check({ native }: Engine, options: unknown, closing: () => boolean): Promise<VerifyReport> {
  const { signal, onProgress } = readRecord(options, "options", stepOptions) as CheckOptions;
  const checked = { checkpoints: 0, payloads: 0, writes: 0, records: 0 };
  const findings: Finding[] = [];
  let cursor: string | undefined;
  throwIfStopped(signal, closing, ENDED);
  do {
    const page = await storeCalls.call(native, "check", { cursor, limit: PAGE });
    for (const rows of Object.keys(checked) as Array<keyof typeof checked>) checked[rows] += page.checked[rows];
    findings.push(...page.findings);
    onProgress?.(page.done, page.of);
    cursor = page.next ?? undefined;
    if (cursor !== undefined) await betweenSteps(signal, closing, ENDED);
  } while (cursor !== undefined);
  return { ok: findings.every(({ severity }) => severity !== "error"), checked, findings };
}
