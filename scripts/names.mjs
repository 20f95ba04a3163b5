// Checks that a framework is a plug-in: `node scripts/names.mjs`. Few product files outside of its folders may name it.
// A file counts once for each named framework. `-v` lists the files.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { root } from "./setup.mjs";

/** The limit. The rest are examples in comments of public classes, and the demo, which uses two frameworks. */
const MOST = 20;

/** The words of a framework, if they differ from the name of its folder. */
const words = {
  "claude-agent-sdk": /claude/i,
  langgraph: /langgraph|langchain/i,
  "openai-agents": /openai/i,
  // The names are short, so only unambiguous forms count.
  mcp: /contracts\/mcp[/"]|["']mcp["'/-]|modelcontextprotocol/i,
  ai: /contracts\/ai[/"]|["']ai["'/]|ForkpointChats|ai-streams/,
};

/** The registries, the entry of `forkpoint`, and the codec's dictionary of the frameworks' stored forms. */
const registries =
  /^(?:engine\/src\/(?:contract\/(?:registry|mod)|codec\/dictionary)\.rs|ts\/(?:contracts\/)?index\.ts|ts\/contracts\/registry\.ts)$/;

const frameworks = readdirSync(`${root}ts/contracts`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "shared")
  .map(({ name }) => ({ name, says: words[name] ?? new RegExp(name, "i") }));

const listed = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "--", "engine/src", "src", "ts", "tools"],
  { cwd: root, encoding: "utf8" },
);
const files = listed.split("\n").filter((file) => file !== "" && !registries.test(file));

const isOwn = (file, name) =>
  new RegExp(`^(?:engine/src/contract|ts/contracts)/${name.replaceAll("-", ".")}(?:/|\\.rs$)`).test(file);

const found = [];
for (const file of files) {
  const text = readFileSync(root + file, "utf8");
  for (const { name, says } of frameworks)
    if (says.test(text) && !isOwn(file, name)) found.push(`${file} names ${name}`);
}

if (process.argv.includes("-v") || found.length > MOST) console.log(found.join("\n"));
console.log(`frameworks are named ${found.length} times outside of their folders, and may be named ${MOST} times`);
if (found.length > MOST) process.exitCode = 1;
