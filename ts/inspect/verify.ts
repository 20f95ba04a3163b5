/** Verifies a store, and checks the location of its database. */

import { lstat } from "node:fs/promises";
import { check, checkOptions } from "../store/check.js";
import { isArray, typeError } from "../bridge/errors.js";
import { flag, readRecord } from "../store/options.js";
import { traitsOf } from "../contracts/registry.js";
import { storeCalls, type Finding, type VerifyReport } from "../bridge/wire.js";
import { type Context, isCurrent, readKey, shownNs, spaceOf } from "./context.js";
import { keysOf } from "./chosen-runs.js";
import { readRuns } from "./read-runs.js";
import { modesOf } from "./modes.js";
import type { Key } from "../plugin/wire.js";

const verifyOptions = {
  runs: (value: unknown, name: string) => {
    if (!isArray(value)) throw typeError(`${name} must be a list of runs`);
    return value.map(readKey);
  },
  quick: flag,
  ...checkOptions,
};

/**
 * Verifies the store. Always reads all data. With `runs`, returns only the findings about these runs, and the counts of
 * their data.
 */
export async function verify(context: Context, given: unknown, closing: () => boolean): Promise<VerifyReport> {
  const { runs, quick, ...rest } = readRecord(given, "options", verifyOptions);
  const report = quick === true ? await glance(context) : await check(context.engine, rest, closing);
  if (runs === undefined) return { ...report, ok: isOk(report.findings) };
  const findings = report.findings.filter((finding) => isAbout(finding, runs));
  // Damaged data is in the findings, and is only left out of the counts.
  const counts =
    quick === true ? undefined : await readRuns(context, await keysOf(context, runs), rest.signal, () => {});
  const others = report.findings.length - findings.length;
  return { ...report, findings, ...(counts && { runs: counts }), others, ok: isOk(findings) };
}

const isOk = (findings: Finding[]) => findings.every(({ severity }) => severity !== "error");

/**
 * Returns true if a finding is about one of the runs, or about an unknown run. A thread includes all of its namespaces.
 * A run includes its current state and its checkpoints, which are in two contracts.
 */
function isAbout({ ref }: Finding, runs: readonly Key[]): boolean {
  // A finding about a current state has the id of the run in `id`.
  const about = ref?.run ?? (ref !== null && isCurrent(ref.space ?? "") ? ref.id : null);
  if (ref === null || about === null) return true;
  return runs.some(({ space, run, ns }) => {
    if (about !== run || (ref.space !== null && spaceOf(ref.space) !== space)) return false;
    const isWhole = ns === "" && traitsOf(space).emptyNamespace !== true;
    return isWhole || ref.ns === null || (shownNs(space, ref.ns) ?? "") === ns;
  });
}

/** Checks the pages and the location of a database. */
async function glance({ engine }: Context): Promise<VerifyReport> {
  const { native } = engine;
  const { checked, findings } = await storeCalls.call(native, "quickCheck", {});
  const path = native.databasePath;
  const isFile = path !== null && native.backend !== "postgres";
  const place = isFile ? [...(await modesOf(path)), ...(await placeOf(path))] : [];
  return { ok: true, checked, findings: [...findings, ...place], next: null };
}

async function placeOf(path: string): Promise<Finding[]> {
  if (process.platform === "win32") return [];
  const { nlink, uid } = await lstat(path);
  const findings: Finding[] = [];
  const add = (severity: Finding["severity"], message: string, remedy: string) =>
    findings.push({ code: "MODE", severity, message, remedy, ref: null });
  const own = process.getuid?.();
  if (own !== undefined && own !== 0 && own !== uid) {
    add(
      "note",
      `the database belongs to user ${uid}, and this process is user ${own}`,
      "Run this as the user that writes to the database",
    );
  }
  if (nlink > 1 && path.length > 0 && (await lstat(path)).isFile()) {
    add(
      "warning",
      `the database has ${nlink} names (hard links), and each name would have its own log`,
      "Keep one name and remove the others",
    );
  }
  return findings;
}
