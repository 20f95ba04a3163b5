// Measures the everyday case: short threads, lists with filters, wide steps, short runs, effects, one core, and
// a cold start. For LangGraph on a file and on a Postgres server, and for the other contracts on a file beside the stores
// that their frameworks have. Run:
// `npm run bench -- everyday [--quick] [--write] [--server=15] [--database=sqlite] [--threads=1000000] [subject ...]`.
//
// - `--quick` runs fewer rounds on a small database.
// - `--write` puts the tables that are whole into docs/internals/measurements.md.
// - `--server` is that of the benchmark `postgres`.
// - `--database` measures on `sqlite` or on `postgres` only.
// - `--threads` is how many threads of three checkpoints the subject `threads` has. Default: 20,000. Another number measures
//   this subject alone, for a table of its own. 1,000,000 on SQLite take about seven minutes on two cores, most of them to
//   fill both sides, and 4 GB of disk.
// - Subject names select what to run. Default: all subjects.
import { coldSavers, coldStore } from "./everyday/cold.mjs";
import { subject } from "./everyday/subject.mjs";
import { option } from "./lib/measure.mjs";
import { compareAll } from "./lib/report.mjs";

const many = option("threads") !== undefined;
if (process.argv.includes("--write") && !many && option("database") !== undefined)
  throw new Error("the document has the figures of all databases: leave out --database");

const threads = () => subject("threads");
const wide = () => subject("wide");
const runs = () => subject("runs", { onOneCore: true });
const effects = () => subject("effects");
const server = () => subject("server", { databases: ["postgres"] });

/** The table of a contract's store. */
const store = (name) => ({
  [name]: async () => [...(await subject(`contracts/${name}`, { databases: ["sqlite"] })), ...(await coldStore(name))],
});
const contracts = ["agentos", "agentium", "tinyagents", "helix"].map((name) => [`everyday ${name}`, store(name)]);

const tables = {
  everyday: { threads, wide, runs, cold: coldSavers, server },
  effects: { effects },
  ...Object.fromEntries(contracts),
};
await compareAll(many ? { "many threads": { threads } } : tables, { goals: true });
