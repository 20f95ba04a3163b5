// Writes the studio of the site: the page of the studio, a recorded store as files, and what answers the page from them.
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "../node_modules/esbuild/lib/main.js";
import { copyPackage } from "../integration/langgraph/copy-package.mjs";
import { install } from "../scripts/setup.mjs";
import { files, root, site } from "./places.mjs";

const require = createRequire(import.meta.url);

/** The folder that records the store, with the frameworks. */
const recorder = `${root}integration/studio/`;

/** How long a step of the recording takes, in ms. */
const PACE = 25;

/** The steps of the long chat that are shown: six turns. */
const CHAT_STEPS = 30;

/** The recorded runs that are shown. The tests of the studio need more: hostile values, and a large state. */
const shown = [
  ["langgraph", "letter-to-ada"],
  ["langgraph", "refund-9004"],
  ["langgraph", "research-lisbon"],
  ["langgraph", "chat-lisbon"],
  ["langgraph", "refund-9001"],
  ["langgraph", "trip-two-questions"],
  ["langgraph", "import-failed"],
  ["agentos", "trip-4711-lisbon"],
  ["agentos", "trip-4711-lisbon-again"],
  ["agentos", "trip-4720-rome"],
  ["agentos", "trip-4801-paris"],
  ["tinyagents", "cities-1"],
  ["tinyagents", "refund-480"],
  ["tinyagents", "import-4019"],
  ["ai", "chat-ai-mail"],
];

/** Records the store, and returns its path. */
async function record() {
  install(recorder);
  copyPackage(recorder);
  const path = `${site}.cache/recorded/recorded.db`;
  rmSync(dirname(path), { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  await promisify(execFile)(process.execPath, [`${recorder}recorded.mjs`, path, String(PACE), "0"]);
  return path;
}

async function shortenChat(inspector) {
  const chat = { space: "langgraph", run: "chat-lisbon", ns: "" };
  const { items } = await inspector.checkpoints(chat, { limit: 1_000, order: "asc" });
  await inspector.remove(
    chat,
    items.slice(CHAT_STEPS).map(({ id }) => id),
  );
}

/** Writes a run as a file, and returns how the list shows it. */
async function writeRun(inspector, ref, at, folder) {
  const { take } = require("../dist/studio/take.js");
  const { pieces, damaged } = await take(inspector, ref, { format: "json" });
  if (damaged > 0) throw new Error(`${ref.run} has damaged checkpoints`);
  const file = `${at}.json`;
  writeFileSync(folder + file, [...pieces].join(""));
  const run = await inspector.run(ref, { withWhy: true, withBytes: true });
  return { file, run: { ...run, lease: null }, questions: await inspector.questions(ref) };
}

async function writeStore(folder) {
  const { openInspector } = require("../dist/inspect/index.js");
  const inspector = await openInspector(await record(), { write: true });
  await shortenChat(inspector);
  const runs = [];
  for (const [at, [space, run]] of shown.entries()) {
    const ref = { space, run, ns: space === "langgraph" ? "" : null };
    runs.push(await writeRun(inspector, ref, at, folder));
  }
  const { version } = await inspector.info();
  await inspector.close();
  writeFileSync(`${folder}store.json`, JSON.stringify({ version, runs }));
}

/** Returns the policy of the studio's server, without the part that a page can't say itself. */
async function readPolicy() {
  const outfile = `${site}.cache/headers.mjs`;
  await build({ entryPoints: [`${root}tools/studio/headers.ts`], outfile, bundle: true, format: "esm" });
  const { headers } = await import(pathToFileURL(outfile).href);
  return headers["Content-Security-Policy"].replace("frame-ancestors 'none'; ", "");
}

/** Writes the page of the studio. Its own scripts and styles are files, as its server has them. */
async function writePage(folder) {
  const { files: parts } = require("../dist/studio/files.js");
  for (const [path, { body }] of Object.entries(parts)) {
    if (!path.startsWith("/assets/")) continue;
    mkdirSync(dirname(folder + path), { recursive: true });
    writeFileSync(folder + path, body);
  }
  const head = `<meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${await readPolicy()}" />
    <script src="recorded.js"></script>`;
  const page = parts["/"].body
    .replace('<meta charset="utf-8" />', head)
    .replace('data-access="token"', 'data-access="recorded"');
  writeFileSync(`${folder}index.html`, page);
}

/** Bundles what answers the page. */
async function writeSource(folder) {
  await build({
    absWorkingDir: root,
    entryPoints: [`${site}studio/recorded.ts`],
    outfile: `${folder}recorded.js`,
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
}

export async function writeStudio() {
  const folder = `${files}studio/`;
  mkdirSync(`${folder}runs`, { recursive: true });
  await writePage(folder);
  await writeSource(folder);
  await writeStore(`${folder}runs/`);
}
