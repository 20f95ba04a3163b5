// Measures the stores of all contracts with conformance/, and writes the results there and into docs/conformance.md:
// `npm run conformance`. `npm run conformance -- langgraph mastra` measures only these contracts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { copyPackage } from "../integration/langgraph/copy-package.mjs";
import { copyTests } from "../integration/langgraph-newest/copy.mjs";
import { peers, root, setup } from "./setup.mjs";

const folder = `${root}conformance/results/`;

/** The targets of Forkpoint's stores. */
const backends = {
  sqlite: "{dir}/store.db",
  jsonl: "jsonl:{dir}/store",
  memory: "memory:",
  postgres: "postgres",
};

/** Forkpoint's store of a contract, on each backend. */
const ours = (path) => Object.entries(backends).map(([backend, target]) => [`${path}?backend=${backend}`, target]);

/** The modules of the stores in integration/, and their targets. "postgres" is a schema of a server. */
const stores = {
  langgraph: [
    ...ours("langgraph/stores/forkpoint.mjs"),
    ["langgraph/stores/memory-saver.mjs", "{dir}"],
    ["langgraph-newest/stores/memory-saver.mjs", "{dir}"],
    ["peers/stores/sqlite-saver.mjs", "{dir}/store.db"],
    ["postgres/stores/postgres-saver.mjs", "postgres"],
  ],
  "langgraph-store": [
    ...ours("langgraph/stores/forkpoint-store.mjs"),
    ["langgraph/stores/in-memory-store.mjs", "{dir}"],
    ["langgraph-newest/stores/in-memory-store.mjs", "{dir}"],
    ["postgres/stores/postgres-store.mjs", "postgres"],
  ],
  "claude-agent-sdk": [
    ...ours("claude-agent-sdk/stores/forkpoint.mjs"),
    ["claude-agent-sdk/stores/in-memory.mjs", "{dir}"],
  ],
  "openai-agents": [
    ...ours("openai-agents/stores/forkpoint.mjs"),
    ["openai-agents/stores/memory-session.mjs", "{dir}"],
  ],
  agentos: [...ours("agentos/stores/forkpoint.mjs"), ["agentos/stores/in-memory.mjs", "{dir}"]],
  mastra: [
    ...ours("mastra/stores/forkpoint.mjs"),
    ["mastra/stores/in-memory.mjs", "{dir}"],
    ["mastra/stores/libsql.mjs", "file:{dir}/store.db"],
  ],
  mcp: [...ours("mcp/stores/forkpoint.mjs"), ["mcp/stores/in-memory.mjs", "{dir}"]],
};

/** Measures a store in a separate process, like a user. Returns its report. */
async function measure(contract, [module, target], server) {
  const at = mkdtempSync(join(tmpdir(), "forkpoint-results-"));
  const file = join(at, "report.json");
  const where = target === "postgres" ? server.url("postgres") : target;
  const schema = target === "postgres" ? `${where.includes("?") ? "&" : "?"}schema=c{n}` : "";
  const args = [
    contract,
    pathToFileURL(`${root}integration/`).href + module,
    "--target",
    where + schema,
    "--json",
    file,
  ];
  const child = spawn(process.execPath, [`${root}conformance/dist/cli.js`, ...args], {
    // LangGraph's own suite is in this folder, if it is not installed beside a store.
    cwd: `${root}integration/langgraph`,
    stdio: "inherit",
  });
  const [status] = await once(child, "exit");
  try {
    const report = JSON.parse(readFileSync(file, "utf8"));
    return { ...report, target: target === "postgres" ? "postgres://…?schema={n}" : target };
  } catch (error) {
    throw new Error(`${module} gave no report (exit code ${status})`, { cause: error });
  } finally {
    rmSync(at, { recursive: true, force: true });
  }
}

/** Returns the cells of the lines of a Markdown table. */
const cellsOf = (lines) =>
  lines.map((text) =>
    text
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

/** Returns a table with a line for each store, from the first table of each page of results. */
function summary() {
  const rows = Object.keys(stores).flatMap((contract) => {
    const parts = readFileSync(`${folder}${contract}.md`, "utf8").split("\n\n");
    const [names, , ...counts] = cellsOf(parts.find((part) => part.startsWith("|")).split("\n"));
    return names.slice(1).map((store, at) => [`\`${contract}\``, store].concat(counts.map((line) => line[at + 1])));
  });
  const head = ["contract", "store", "MUST", "SHOULD", "OURS", "the framework's own suite"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

setup({
  frameworks: [
    "agentos",
    "claude-agent-sdk",
    "langgraph",
    "langgraph-newest",
    "mastra",
    "mcp",
    "openai-agents",
    "postgres",
  ],
  release: true,
});
peers();
const { compare, contracts } = await import(`${root}conformance/dist/index.js`);
const { startServer } = await import("../integration/postgres/server.mjs");
copyTests();
// Frameworks whose classes our stores extend.
for (const name of ["langgraph", "langgraph-newest", "mastra"]) copyPackage(`${root}integration/${name}`);
const wanted = process.argv.slice(2);
for (const name of wanted) if (!Object.hasOwn(stores, name)) throw new Error(`there is no contract ${name}`);
const server = await startServer({ sync: true });
for (const name of wanted.length > 0 ? wanted : Object.keys(contracts)) {
  const reports = [];
  for (const store of stores[name]) reports.push(await measure(name, store, server));
  writeFileSync(`${folder}${name}.md`, compare(reports));
}
await server.stop();
const guide = `${root}docs/conformance.md`;
const [before, after] = [/^[^]*<!-- begin results -->\n/, /<!-- end results -->[^]*$/].map(
  (part) => part.exec(readFileSync(guide, "utf8"))[0],
);
writeFileSync(guide, `${before}\n${summary()}\n\n${after}`);
