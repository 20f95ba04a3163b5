// Measures what an operator asks of a store with very many short runs, on a file and on a Postgres server. Run:
// `npm run bench -- scale [--quick] [--write] [--server=15] [--database=sqlite] [--runs=1000000]`.
//
// - `--quick` asks a small store.
// - `--write` puts the table of a million runs into docs/internals/measurements.md.
// - `--server` is that of the benchmark `postgres`.
// - `--database` measures on `sqlite` or on `postgres` only.
// - `--runs` is how many runs of three checkpoints the store has. Default: 70,000. 1,000,000 take about fifteen minutes and
//   4 GB of disk.
import { subject } from "./everyday/subject.mjs";
import { option } from "./lib/measure.mjs";
import { compareAll } from "./lib/report.mjs";

const isWhole = option("runs") === "1000000" && option("database") === undefined;
await compareAll({ scale: { questions: () => subject("questions") } }, { goals: true, isWhole });
