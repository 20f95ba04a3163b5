/** Verifies all stored data. */

import type { Engine } from "./engine.js";
import { readRecord, text, whole } from "./options.js";
import { betweenSteps, stepOptions, throwIfStopped } from "./retention.js";
import { storeCalls, type Finding, type VerifyReport } from "../bridge/wire.js";

/** Options of `check()`. */
export interface CheckOptions {
  /** Stops the check between two pages. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Called after each page with the number of verified rows, the approximate number of all rows, and the position for
   * `after`. If this function throws, the check stops with that error.
   */
  onProgress?: (done: number, of: number, next: string | null) => void;
  /** Stops after about this many rows. The report's `next` is the position. Default: everything is verified. */
  rows?: number;
  /** Continues an earlier check of this store: pass `next` of its report or of its progress. */
  after?: string;
}

export const checkOptions = {
  ...stepOptions,
  rows: whole(1, Number.MAX_SAFE_INTEGER, "rows"),
  after: text,
};

/** The number of rows in a page. The check tests its signal between two pages. */
const PAGE = 1000;
const ENDED = "the check ended";

export async function check({ native }: Engine, options: unknown, closing: () => boolean): Promise<VerifyReport> {
  const given = readRecord(options, "options", checkOptions) as CheckOptions;
  const { signal, onProgress, rows: most = Number.POSITIVE_INFINITY } = given;
  const checked = { checkpoints: 0, payloads: 0, writes: 0, records: 0 };
  const findings: Finding[] = [];
  let cursor = given.after;
  let left = most;
  throwIfStopped(signal, closing, ENDED);
  do {
    const page = await storeCalls.call(native, "check", { cursor, limit: Math.min(PAGE, left) });
    for (const rows of Object.keys(checked) as Array<keyof typeof checked>) checked[rows] += page.checked[rows];
    findings.push(...page.findings);
    onProgress?.(page.done, page.of, page.next);
    cursor = page.next ?? undefined;
    // Payloads belong to checkpoints but have their own rows.
    left -= Object.values(page.checked).reduce((sum, count) => sum + count);
    if (cursor !== undefined && left > 0) await betweenSteps(signal, closing, ENDED);
  } while (cursor !== undefined && left > 0);
  return { ok: findings.every(({ severity }) => severity !== "error"), checked, findings, next: cursor ?? null };
}
