// Measures what a Postgres server with very many checkpoints takes: bytes, indexes, questions, removals and VACUUM. It
// extrapolates to a year of a million runs a day. Run: `npm run bench -- year [--quick] [--write] [--sizes=0.1,1,10] [--server=15]`.
//
// - `--quick` measures small tables.
// - `--write` puts the table into docs/internals/measurements.md.
// - `--sizes` are the measured numbers of checkpoints, in millions. Ten million need 15 GB in the temporary folder, and 50 million 70 GB.
// - `--partitions` instead compares the tables as they are with hash partitions, at the largest of the sizes.
// - `--server` is that of the benchmark `postgres`.
import { totalmem } from "node:os";
import { startServer } from "../integration/postgres/server.mjs";
import { option, sized } from "./lib/measure.mjs";
import { bytes, figure, machine, print, progress, table, time, write } from "./lib/report.mjs";
import { inDatabase, measure } from "./year/asking.mjs";
import { comparePartitions, PARTITIONS } from "./year/partitions.mjs";
import { tables } from "./year/result.mjs";
import { rounded } from "./year/rows.mjs";

const sizes = (option("sizes") ?? sized("0.1,1,10", "0.01,0.02"))
  .split(",")
  .map((size) => rounded(Number(size) * 1e6))
  .toSorted((a, b) => a - b);
if (!sizes.every((size) => size > 0)) throw new Error("--sizes must be numbers");

const version = option("server") ?? "newest";
const server = await startServer({ version: Number(version) || version, sync: true });
if (server === undefined) throw new Error(`no Postgres server (${version}) is installed`);
try {
  await (process.argv.includes("--partitions") ? partitions() : sizesOf());
} finally {
  await server.stop();
}

async function sizesOf() {
  if (sizes.length < 2) throw new Error("two or more --sizes are needed to extrapolate");
  const measured = [];
  for (const size of sizes) {
    const work = (url, query) => measure(url, query, size, show(size));
    measured.push({ size, ...(await inDatabase(server, work)) });
  }
  await described();
  const [bytesTaken, timesTaken] = tables(measured);
  table(bytesTaken.head, bytesTaken.rows);
  print();
  table(timesTaken.head, timesTaken.rows);
  write("year");
}

async function partitions() {
  const size = sizes.at(-1);
  const compared = await inDatabase(server, (_, query, named) => comparePartitions(query, named, size, show(size)));
  await described();
  const units = { bytes, time };
  table(
    [`${size.toLocaleString("en")} checkpoints`, "as it is", `${PARTITIONS} partitions`, "ratio"],
    compared.map(({ what, unit, values: [one, parts] }) => [
      what,
      units[unit](one),
      units[unit](parts),
      figure(parts / one),
    ]),
  );
  print("\nThe ratio says how many times as much the partitions take.");
}

function show(size) {
  return (text) => progress(`${size.toLocaleString("en")} checkpoints: ${text}`);
}

async function described() {
  const [{ version, fsync, buffers }] = await server.query(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
       current_setting('shared_buffers') AS buffers`,
  );
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  machine(`${memory}, Postgres ${version.split(" ")[0]}, fsync ${fsync}, shared_buffers ${buffers}.`);
}
