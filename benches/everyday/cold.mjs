// Measures a cold start: a new process imports a saver or a store, opens a database, saves, reads and closes.
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { delayed } from "../lib/figures.mjs";
import { inTurns, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";
import { coreCounts, inPlace, variantOf } from "./subject.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The most that our side may take, in microseconds. */
const MOST = { imported: 10_000, whole: 25_000 };
/** The import, or all of the program: the import, opening, 4 saves, 3 reads and closing. */
const WHAT = { imported: "import", whole: "complete" };

/** The document has these stores: the others start as AgentOS' does. */
const SHOWN = new Set(["agentos", "helix"]);

/** The packages of the project, by their names there, and where they are in integration/. */
const LINKED = {
  "@langchain/langgraph-checkpoint": "peers/node_modules/@langchain/langgraph-checkpoint",
  "@langchain/langgraph-checkpoint-sqlite": "peers/node_modules/@langchain/langgraph-checkpoint-sqlite",
  "@langchain/langgraph-checkpoint-postgres": "postgres/node_modules/@langchain/langgraph-checkpoint-postgres",
  // PostgresSaver finds the copy of LangGraph's package that is beside it.
  "postgres-saver-peer": "postgres/node_modules/@langchain/langgraph-checkpoint",
};

/** LangGraph's savers. */
export function coldSavers() {
  return inFolder(async (path) => {
    const program = join(makeProject(path("project")), "everyday/start.mjs");
    const onFiles = await inPlace("sqlite", (run) => {
      const sides = { ours: ["ours", path("ours.db")], theirs: ["sqlite", path("theirs.db")] };
      return measure(run, program, sides, { mode: "WAL, FULL", peer: "SqliteSaver: WAL, NORMAL" });
    });
    const onServers = await inPlace("postgres", (run) => measureServer(run, program));
    return [...onFiles, ...onServers];
  });
}

/** The store of another contract. A store in memory is no peer of a program that ends. */
export function coldStore(name) {
  return inFolder((path) => {
    const program = join(makeProject(path("project")), "everyday/start-store.mjs");
    return inPlace("sqlite", (run) =>
      measure(run, program, { ours: [name, path("ours.db")] }, { mode: "WAL, FULL", detail: !SHOWN.has(name) }),
    );
  });
}

/** Makes a user's project with the packages of all sides and with the benchmarks' programs. Returns its path. */
function makeProject(project) {
  const packages = join(project, "node_modules");
  const addons = readdirSync(root).filter((file) => file.endsWith(".node"));
  for (const file of ["package.json", "dist", ...addons]) {
    cpSync(join(root, file), join(packages, "forkpoint", file), { recursive: true });
  }
  for (const [name, home] of Object.entries(LINKED)) {
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    symlinkSync(join(root, "integration", home), join(packages, name), "junction");
  }
  for (const folder of ["everyday", "lib"])
    cpSync(join(root, "benches", folder), join(project, folder), { recursive: true });
  return project;
}

/** The peer's tables are there already, as ours are after the first round, which is not counted. */
async function measureServer(run, program) {
  const { names, onServer } = await import("../postgres/database.mjs");
  return onServer((server) =>
    server.with("ours", (_, ours) =>
      server.with("theirs", async (_side, theirs) => {
        const rows = [];
        for (const delay of sized([0, 1], [0])) {
          await server.wire.reset(delay);
          const labels = { delay, mode: server.mode, peer: names.theirs };
          // The delay changes no import.
          const figures = delay === 0 ? ["imported", "whole"] : ["whole"];
          const sides = { ours: ["ours", ours.url], theirs: ["postgres", theirs.url] };
          rows.push(...(await measure(run, program, sides, { ...labels, figures })));
        }
        return rows;
      }),
    ),
  );
}

/**
 * Measures the program on all cores and on one. `sides` has the arguments of the program, by side. `delay` is added to each
 * round trip, in ms.
 */
async function measure(run, program, sides, { delay = 0, mode, peer, detail = false, figures = Object.keys(WHAT) }) {
  const rows = [];
  for (const cores of coreCounts()) {
    progress(variantOf(`a cold start: ${mode}`, cores));
    const turn = (side) => run(program, { args: sides[side], cores });
    const measured = await inTurns(Object.keys(sides), turn, { rounds: sized(9, 1) });
    for (const figure of figures) {
      const [ours, theirs] = [measured.ours[figure], measured.theirs?.[figure]];
      const row = { work: "a cold start", variant: variantOf(delayed(delay), cores), what: WHAT[figure] };
      rows.push({ ...row, mode, peer, ours, theirs, unit: time, most: MOST[figure], detail: detail || cores === 1 });
    }
  }
  return rows;
}
