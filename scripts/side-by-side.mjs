// Runs this release and another one side by side on one database, before a release. The other release is the folder of
// its package, such as `node_modules/forkpoint` of a project:
//
// npm install --prefix target/other forkpoint@0.1.0
// node scripts/side-by-side.mjs target/other/node_modules/forkpoint
//
// Processes of both releases save to and read from a SQLite file, a folder of text files, and the server of
// FORKPOINT_PG, if set. Some are killed, and one asks for an upgrade. In the end, all acknowledged saves must exist.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../dist/index.js";
import { root } from "./setup.mjs";

const SAVES = 200;
const given = process.argv[2];
if (given === undefined) {
  console.error("Name the folder of the other release's package, such as target/other/node_modules/forkpoint");
  process.exit(2);
}
const folders = { this: root, other: resolve(given) };
const { version } = JSON.parse(readFileSync(join(folders.other, "package.json"), "utf8"));
const worker = fileURLToPath(new URL("side-by-side/worker.mjs", import.meta.url));

/** Starts a process of a release. */
function start(release, { target, options }, name, count = SAVES) {
  const args = [worker, folders[release], target, JSON.stringify(options), `${release} ${name}`, `${count}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (data) => (text += data));
  const begun = once(child.stdout, "data");
  const lines = () => text.split("\n").filter((line) => line !== "");
  const saved = () => lines().flatMap((line) => /^saved (.*)$/.exec(line)?.[1] ?? []);
  /** Waits until the process ends, and returns the data that it has read. Null: it was killed. */
  const ended = once(child, "close").then(([code]) => {
    if (child.killed) return null;
    assert.equal(code, 0, `${release} ${name} failed`);
    return JSON.parse(lines().at(-1));
  });
  return { release, saved, ended, begun, kill: () => child.kill("SIGKILL") };
}

const sleep = (ms) => new Promise((done) => void setTimeout(done, ms));

/** Asks this release for a database's format, or for its upgrade. */
async function migrate({ target, options }, dryRun) {
  const store = await openStore(target, options);
  const { from, to } = await store.migrate({ dryRun });
  await store.close();
  return { from, to };
}

/** Verifies a database with this release: it has all acknowledged saves, and no damage. */
async function verify({ target, options }, saved) {
  const store = await openStore(target, options);
  const { ok, findings } = await store.check();
  assert.deepEqual({ ok, findings }, { ok: true, findings: [] });
  await store.close();
  const { listed } = await start("this", { target, options }, "at the end", 1).ended;
  const missing = saved.filter((id) => !listed.includes(id));
  assert.deepEqual(missing, []);
  return listed.length;
}

/** Runs two processes of each release, and two that are killed, on a database that one release has made. */
async function scene(database, maker, upgrade) {
  const made = await start(maker, database, "begins", 20).ended;
  assert.equal(made.listed.length, 20, made.failed);
  const { from, to } = await migrate(database, true);
  if (upgrade && from === to) return console.log("  no upgrade: the releases make the same format");
  const workers = ["this", "this", "other", "other"].map((release, at) => start(release, database, `${at}`));
  const victims = ["this", "other"].map((release) => start(release, database, "killed", 1e6));
  const ended = Promise.all([...workers, ...victims].map((each) => each.ended));
  // A release that may not use the database ends without a save.
  await Promise.all(victims.map((each) => Promise.race([each.begun, each.ended])));
  await sleep(200);
  for (const each of victims) each.kill();
  if (upgrade) assert.deepEqual(await migrate(database, false), { from, to });
  const seen = (await ended).slice(0, workers.length);
  const saves = [];
  for (const [at, { failed }] of seen.entries()) {
    const { release, saved } = workers[at];
    if (release === "this") assert.equal(failed, null, "this release can always save");
    saves.push(`${release} ${saved().length}${failed === null ? "" : `, then UNSUPPORTED`}`);
  }
  const { from: now } = await migrate(database, true);
  assert.equal(now, upgrade ? to : from, "only an upgrade on request changes the format");
  const all = await verify(
    database,
    [...workers, ...victims].flatMap((each) => each.saved()),
  );
  console.log(
    `  format ${from}${upgrade ? ` upgraded to ${to}` : ""}: ${saves.join("; ")}; ${all} checkpoints, no damage`,
  );
}

const folder = mkdtempSync(join(tmpdir(), "forkpoint-releases-"));
let number = 0;
const targets = {
  SQLite: () => ({ target: join(folder, `${number++}.db`), options: {} }),
  "text files": () => ({ target: `jsonl:${join(folder, `${number++}`)}`, options: {} }),
};
const server = process.env.FORKPOINT_PG;
if (!server) console.log("SKIPPED: Postgres, because FORKPOINT_PG is not set");
else targets.Postgres = () => ({ target: server, options: { schema: `releases_${process.pid}_${number++}` } });

console.log(`This release beside ${version}`);
try {
  for (const [name, make] of Object.entries(targets)) {
    for (const [what, maker, upgrade] of [
      ["made by the other release", "other", false],
      ["made by this release", "this", false],
      ["made by the other release, with an upgrade meanwhile", "other", true],
    ]) {
      console.log(`${name}, ${what}`);
      await scene(make(), maker, upgrade);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
