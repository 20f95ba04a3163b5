// Runs a subject in a process of its own for each database. The rows of SQLite run on a disk with a fixed sync.
import { fileURLToPath } from "node:url";
import { availableParallelism } from "node:os";
import { installed } from "../../integration/postgres/server.mjs";
import { option, quick } from "../lib/measure.mjs";
import { runProgram } from "../lib/programs.mjs";
import { bytes, figure, leaveOut, progress, rate, time } from "../lib/report.mjs";
import { onFixedDisk, SYNCS } from "../lib/sync.mjs";

const program = fileURLToPath(new URL("turns.mjs", import.meta.url));
const units = { bytes, figure, rate, time };
export const [SYNC] = SYNCS;

const places = {
  sqlite: (work) => onFixedDisk((run) => work((file, options) => run(SYNC, file, options))),
  postgres(work) {
    if (installed().size > 0) return work(runProgram);
    leaveOut("the rows of Postgres", "there is no Postgres server on this machine");
    return [];
  },
};

/**
 * Calls `work(run)` for a database: `run(file, options)` runs a program, as `runProgram` does. Resolves to no rows if
 * `--database` names another database.
 */
export const inPlace = (database, work) =>
  [undefined, database].includes(option("database")) ? places[database](work) : [];

/** The rows of a subject. With `onOneCore`, it runs on all cores, and again on one. */
export async function subject(name, { databases = Object.keys(places), onOneCore = false } = {}) {
  const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
  const rows = [];
  for (const database of databases) {
    const found = await inPlace(database, async (run) => {
      const all = [];
      for (const cores of onOneCore ? coreCounts() : [availableParallelism()]) {
        progress(variantOf(`${name} on ${database}`, cores));
        const some = await run(program, { args: [name, database, ...options], cores });
        // The document has one core for SQLite only.
        const detail = cores === 1 && database !== "sqlite";
        for (const row of some) {
          const variant = variantOf(row.variant, cores);
          all.push({ ...row, variant, unit: units[row.unit], detail: row.detail || detail });
        }
      }
      return all;
    });
    rows.push(...found);
  }
  return rows;
}

/** All cores, and one core. A quick run is on all cores only. */
export const coreCounts = () => [...new Set([availableParallelism(), quick ? availableParallelism() : 1])];

const onCores = (cores) => (cores === 1 ? "one core" : "");

/** The variant of a row on so many cores. */
export const variantOf = (variant, cores) => [variant, onCores(cores)].filter(Boolean).join(", ");
