// The code of the README and the guides: `ts` blocks, the commands of `console` blocks, and what each prints.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The projects that run the guides' code, by what is installed there. */
export type Suite =
  | "forkpoint"
  | "agentos"
  | "claude-agent-sdk"
  | "ai"
  | "deepagents"
  | "mcp"
  | "openai-agents"
  | "mastra"
  | "langgraph"
  | "otel"
  | "pglite"
  | "postgres";

/** A `ts` block. A block without a file name runs alone, in a new folder. */
export interface Snippet {
  kind: "snippet";
  /** For example `docs/values.md block 2`. */
  name: string;
  code: string;
  suite: Suite;
  /** The name under which the reader saves it: from a first line such as `// trip.mts`, or from "Save this as `trip.mts`". */
  file: string | undefined;
  /** What the page says it prints: its `// prints` comments, or the `text` block after it. Undefined: nothing is said. */
  printed: string[] | undefined;
}

/** A line that begins with `$ ` in a `console` block, and what the page says it prints. */
export interface Command {
  kind: "command";
  /** For example `docs/cli.md: npx forkpoint ls`. */
  name: string;
  command: string;
  printed: string[];
  /** True if the page ends it with Ctrl-C: the line `^C` after its output. */
  interrupted: boolean;
}

/** A page: its code in reading order. Its named files and its commands share a folder. */
export interface Page {
  path: string;
  steps: Array<Snippet | Command>;
  /** The suite that runs the commands. */
  suite: Suite;
}

/** Where a piece of code runs. The order matters: the later suites have more installed. */
function suiteOf(code: string): Suite {
  if (code.includes('from "@electric-sql/')) return "pglite";
  if (/\bDATABASE_URL\b/.test(code)) return "postgres";
  if (/from "(@opentelemetry\/|forkpoint\/otel)/.test(code)) return "otel";
  if (code.includes('from "deepagents')) return "deepagents";
  if (/from "(@langchain\/|langchain"|forkpoint\/langgraph")/.test(code)) return "langgraph";
  if (code.includes('from "@framers/agentos')) return "agentos";
  if (code.includes('from "@anthropic-ai/claude-agent-sdk')) return "claude-agent-sdk";
  if (/from "(@mastra\/|forkpoint\/mastra)/.test(code)) return "mastra";
  if (/from "(ai|forkpoint\/ai|assistant-stream\/resumable)"/.test(code)) return "ai";
  if (/from "(@modelcontextprotocol\/|forkpoint\/mcp")/.test(code)) return "mcp";
  if (/from "(@openai\/agents|forkpoint\/openai-agents)"/.test(code)) return "openai-agents";
  return "forkpoint";
}

const FENCE = /^( *)```(\w*)\n([^]*?)^\1```$/gm;

/** The name that the text before a block gives it. */
const SAVED_AS = /\b[Ss]ave\s[^`]*\bas\s+`([\w.-]+\.mts)`[^`]*$/;

/** Reads a page, which is a path in the repository. */
export function readPage(path: string): Page {
  const text = readFileSync(join(root, path), "utf8").replaceAll("\r", "");
  const steps: Page["steps"] = [];
  let [end, blocks] = [0, 0];
  for (const match of text.matchAll(FENCE)) {
    const [block, indent, language, indented] = match;
    const before = text.slice(end, match.index);
    end = match.index + block.length;
    const code = indented!.replaceAll(new RegExp(`^${indent}`, "gm"), "");
    const last = steps.at(-1);
    if (language === "ts") {
      const printed = [...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, line]) => line!);
      const name = `${path} block ${(blocks += 1)}`;
      const file = /^\/\/ ([\w.-]+\.mts)\n/.exec(code)?.[1] ?? SAVED_AS.exec(before)?.[1];
      const said = printed.length === 0 ? undefined : printed;
      steps.push({ kind: "snippet", name, code, file, suite: suiteOf(code), printed: said });
    } else if (language === "text" && last?.kind === "snippet" && last.printed === undefined) {
      last.printed = code.trimEnd().split("\n");
    } else if (language === "console") {
      for (const line of code.trimEnd().split("\n")) {
        const running = steps.at(-1);
        if (line.startsWith("$ ")) {
          const command = line.slice(2);
          steps.push({ kind: "command", name: `${path}: ${command}`, command, printed: [], interrupted: false });
        } else if (running?.kind !== "command") throw new Error(`${path}: output without a command: ${line}`);
        else if (line === "^C") running.interrupted = true;
        else running.printed.push(line);
      }
    }
  }
  const named = steps.filter((step) => step.kind === "snippet" && step.file !== undefined);
  return { path, steps, suite: suiteOf(named.map((step) => (step as Snippet).code).join("\n")) };
}

/** The README and the guides. `docs/internals` is for contributors. */
export const pages: readonly Page[] = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
].map(readPage);

/** Returns a page's `ts` blocks. */
export function snippetsOf({ steps }: Page): Snippet[] {
  return steps.filter((step) => step.kind === "snippet");
}
