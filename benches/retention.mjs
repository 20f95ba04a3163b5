// Measures retention in the background under load, on a file and on a Postgres server. Run:
// `npm run bench -- retention [--quick] [--write] [--server=15] [--database=sqlite] [--seconds=600]`.
//
// - `--quick` takes 20 seconds.
// - `--write` puts the table into docs/internals/measurements.md.
// - `--server` is that of the benchmark `postgres`.
// - `--database` measures on `sqlite` or on `postgres` only.
// - `--seconds` is how long a database is measured. Default: 600.
import { subject } from "./everyday/subject.mjs";
import { compareAll } from "./lib/report.mjs";

await compareAll({ retention: { sweeps: () => subject("sweeps") } }, { goals: true });
