// Measures the everyday case of LangGraph's users: short threads, lists with filters, wide steps, short runs, one core, and
// a cold start, on a file and on a Postgres server. Run:
// `npm run bench -- everyday [--quick] [--write] [--server=15] [--database=sqlite] [--threads=1000000] [subject ...]`.
//
// - `--quick` runs fewer rounds on a small database.
// - `--write` puts the result into docs/measurements.md.
// - `--server` is that of the benchmark `postgres`.
// - `--database` measures on `sqlite` or on `postgres` only.
// - `--threads` is how many threads of three checkpoints the subject `threads` has. Default: 20,000. 1,000,000 on SQLite take
//   about seven minutes on two cores, most of them to fill both sides, and 4 GB of disk.
// - Subject names select what to run. Default: all subjects.
import { cold } from "./everyday/cold.mjs";
import { subject } from "./everyday/subject.mjs";
import { option } from "./lib/measure.mjs";
import { compare } from "./lib/report.mjs";

const write = process.argv.includes("--write");
if (write && (option("threads") ?? option("database")) !== undefined)
  throw new Error(
    "the document has the figures of all databases and of 20,000 threads: leave out --threads and --database",
  );

const threads = () => subject("threads");
const wide = () => subject("wide");
const runs = () => subject("runs", { onOneCore: true });
const server = () => subject("server", { databases: ["postgres"] });

await compare("everyday", { threads, wide, runs, cold, server }, { goals: true });
