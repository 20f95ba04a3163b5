/** The command that does what the dialog "Take this run with you" does. */

import type { RunRef } from "../../../ts/plugin/views.js";
import { shellWord } from "../../../ts/bridge/json-form/json-text.js";

/** Returns a name that is valid in every file system. */
export const fileName = (run: string): string =>
  run
    .replace(/[^\p{L}\p{N}_.-]+/gu, "-")
    .replace(/^[.-]+/, "")
    .slice(0, 80) || "run";

/** Returns the command that makes the same HTML file. */
export function exportCommand(
  { space, run, ns }: RunRef,
  target: string,
  last: string,
  leaveOut: readonly string[],
): string {
  // A command can't open a database in memory.
  const db = target === "" || target === "memory:" ? [] : ["--db", target];
  // After "--", an id that begins with a hyphen is not read as an option.
  const [before, behind] = run.startsWith("-") ? [[], ["--", run]] : [[run], []];
  const words = ["npx", "forkpoint", "export", ...before, ...db, "--space", space];
  if (ns) words.push("--ns", ns);
  words.push("--html", `${fileName(run)}.html`);
  if (last !== "") words.push("--last", last);
  for (const path of leaveOut) words.push("--leave-out", path);
  return [...words, ...behind].map(shellWord).join(" ");
}
