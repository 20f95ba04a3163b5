// Measures the everyday case of LangGraph's users: short threads, lists with filters, wide steps, short runs, one core, and
// a cold start, on a file and on a Postgres server. Run:
// `npm run bench -- everyday [--quick] [--write] [--server=15] [subject ...]`. `--quick` runs fewer rounds on a small
// database. `--write` puts the result into docs/measurements.md. `--server` is that of the benchmark `postgres`. Subject
// names select what to run. Default: all subjects.
import { cold } from "./everyday/cold.mjs";
import { subject } from "./everyday/subject.mjs";
import { compare } from "./lib/report.mjs";

const threads = () => subject("threads");
const wide = () => subject("wide");
const runs = () => subject("runs", { onOneCore: true });
const server = () => subject("server", { databases: ["postgres"] });

await compare("everyday", { threads, wide, runs, cold, server }, { goals: true });
