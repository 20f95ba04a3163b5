// Measures LangGraph's store and cache, beside LangGraph's own in memory. Searches run in a fresh process each.
// Run: `npm run bench -- langgraph-store [--quick] [--write]`. Also on a server, if the machine has Postgres.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { installed, startServer } from "../integration/postgres/server.mjs";
import { ForkpointCache, ForkpointStore, InMemoryCache, InMemoryStore } from "./langgraph/packages.mjs";
import { clock, inTurns, quick, sized, summary } from "./lib/measure.mjs";
import { inFolder } from "./lib/peers.mjs";
import { bytes, details, leaveOut, machine, print, progress, spread, table, time, write } from "./lib/report.mjs";

const ITEMS = sized(100_000, 5_000);
const filters = {
  "equal, one matches": { id: ITEMS - 1 },
  "equal, a text that none has": { city: "none" },
  "greater, ten match": { id: { $gt: ITEMS - 11 } },
  "in, a tenth matches": { kind: { $in: ["k3"] } },
  "no filter": undefined,
};

/** The filters and the numbers of namespaces that are not in the document. */
const HIDDEN = ["equal, a text that none has", "in, a tenth matches", "1,000"];

const item = (n) => ({ id: n, kind: `k${n % 10}`, city: `city ${n % 1000}`, note: `a note of user ${n} `.repeat(4) });

const namespaceOf = {
  one: () => ["users", "notes"],
  "1,000": (n) => ["users", `${n % 1_000}`],
  each: (n) => ["users", `${n}`],
};

const databaseOf = (shape) => `bench_${shape.replace(/\W/g, "")}`;

async function fill(store, namespace) {
  for (let at = 0; at < ITEMS; at += 5_000)
    await store.batch(
      Array.from({ length: 5_000 }, (_, n) => ({
        namespace: namespace(at + n),
        key: `${at + n}`,
        value: item(at + n),
      })),
    );
}

if (process.argv[2] === "--search") {
  // The first calls load the code and open the file. Then each filter is searched once.
  const [, , , target, shape] = process.argv;
  const store = new ForkpointStore(target);
  if (target === "memory:") await fill(store, namespaceOf[shape]);
  await store.search(["none"], { filter: { a: 1 } });
  await store.get(["none"], "k");
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 2);
  const took = {};
  for (const [name, filter] of Object.entries(filters)) {
    const began = performance.now();
    await store.search(["users"], { filter, limit: 10 });
    took[name] = performance.now() - began;
    most = Math.max(most, process.memoryUsage().rss);
  }
  clearInterval(timer);
  await store.close();
  const peak = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ took, grown: Math.max(most, target === "memory:" ? 0 : peak) - before }));
  process.exit(0);
}

machine();
await inFolder(async (path) => {
  const server = installed().size > 0 ? await startServer({ version: "newest", sync: true }) : undefined;
  if (server === undefined) leaveOut("the rows of Postgres", "there is no Postgres server on this machine");
  const targets = {
    SQLite: (shape) => path(`${shape}.db`),
    "text files": (shape) => `jsonl:${path(shape)}`,
    memory: () => "memory:",
    ...(server && { Postgres: (shape) => server.url({ database: databaseOf(shape) }) }),
  };
  const rows = [];
  const grown = [];
  for (const shape of Object.keys(namespaceOf)) {
    for (const [name, target] of Object.entries(targets)) {
      progress(`${name}, ${shape}`);
      const at = target(shape);
      if (name === "Postgres") await server.query(`CREATE DATABASE ${databaseOf(shape)}`);
      if (name !== "memory") {
        const store = new ForkpointStore(at, { durability: "off" });
        await fill(store, namespaceOf[shape]);
        await store.close();
      }
      // A server does that by itself within a minute.
      if (name === "Postgres") await server.query("VACUUM (ANALYZE)", [], { database: databaseOf(shape) });
      const runs = Array.from({ length: sized(7, 1) }, () => {
        const args = [
          "--expose-gc",
          fileURLToPath(import.meta.url),
          "--search",
          at,
          shape,
          ...(quick ? ["--quick"] : []),
        ];
        const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
        if (!stdout) throw new Error(stderr);
        return JSON.parse(stdout);
      });
      const of = (filter) => spread(summary(runs.map(({ took }) => took[filter] * 1_000)), time);
      rows.push([`${name}, ${shape === "each" ? "one for each item" : shape}`, ...Object.keys(filters).map(of)]);
      grown.push(Math.max(...runs.map((run) => run.grown)));
    }
  }
  await server?.stop();
  print(
    `A search for 10 of ${ITEMS.toLocaleString("en")} items of about 170 bytes, in a new process, and the most memory that it adds:\n`,
  );
  const head = ["backend, namespaces", ...Object.keys(filters), "memory"];
  const all = rows.map((row, at) => row.concat(bytes(grown[at])));
  const isShown = (_, at) => !HIDDEN.includes(head[at]);
  table(
    head.filter(isShown),
    all.filter(([name]) => !HIDDEN.some((shape) => name.endsWith(`, ${shape}`))).map((row) => row.filter(isShown)),
  );
  details(head, all);

  progress("calls");
  const count = sized(1_000, 50);
  const sides = {
    "Forkpoint: WAL, FULL": new ForkpointStore(path("calls.db")),
    InMemoryStore: new InMemoryStore(),
  };
  const work = {
    "put, a new item": (store, n) => store.put(["calls", `${n % 10}`], `${n}`, item(n)),
    "put, an update": (store, n) => store.put(["calls", `${n % 10}`], `${n % 100}`, item(n)),
    get: (store, n) => store.get(["calls", `${n % 10}`], `${n % 100}`),
    "search of a namespace of 100, with a filter": (store, n) =>
      store.search(["calls", `${n % 10}`], { filter: { city: `city ${n % 100}` } }),
  };
  const lines = [];
  for (const [name, call] of Object.entries(work)) {
    const made = await inTurns(
      Object.keys(sides),
      (side) =>
        clock(count, async () => {
          for (let n = 0; n < count; n++) await call(sides[side], n);
        }),
      { rounds: sized(5, 1) },
    );
    const [ours, theirs] = Object.values(made).map(({ wall }) => wall);
    lines.push([name, spread(ours, time), time(theirs.median)]);
  }
  await sides["Forkpoint: WAL, FULL"].close();
  print();
  table(["call", ...Object.keys(sides)], lines);

  progress("caches");
  const caches = {
    "Forkpoint: off": new ForkpointCache(path("cache-off.db")),
    "Forkpoint: normal": new ForkpointCache(path("cache-normal.db"), { durability: "normal" }),
    "Forkpoint: full": new ForkpointCache(path("cache-full.db"), { durability: "full" }),
    InMemoryCache: new InMemoryCache(),
  };
  const entries = [];
  const cacheWork = {
    "set 1 KB": (cache, n) =>
      cache.set([{ key: [["c", `${n % 10}`], `${n}`], value: { text: "x".repeat(1_000) }, ttl: 600 }]),
    get: (cache, n) => cache.get([[["c", `${n % 10}`], `${n}`]]),
  };
  for (const [name, call] of Object.entries(cacheWork)) {
    const made = await inTurns(
      Object.keys(caches),
      (side) =>
        clock(count, async () => {
          for (let n = 0; n < count; n++) await call(caches[side], n);
        }),
      { rounds: sized(5, 1) },
    );
    entries.push([name, ...Object.keys(caches).map((side) => spread(made[side].wall, time))]);
  }
  for (const cache of Object.values(caches)) await cache.close?.();
  print();
  table(["cache", ...Object.keys(caches)], entries);
});
if (!quick) write("langgraph-store");
