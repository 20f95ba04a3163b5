/** Writes the code that resumes a run. Ids stand in it as JSON strings. */

import type { Snippet } from "../../inspect.js";
import { ForkpointError, typeError } from "../errors.js";
import { readRecord } from "../options.js";
import type { Key } from "./wire.js";

const codeOptions = {
  module: (value: unknown, name: string) => {
    if (value !== "esm" && value !== "cjs") throw typeError(`${name} must be "esm" or "cjs"`);
    return value;
  },
};

/** Returns the code that resumes a run, or a checkpoint if one is given. */
export function codeOf(target: string, key: Key, id: string | undefined, given: unknown): Snippet[] {
  const { module = "esm" } = readRecord(given, "options", codeOptions) as { module?: "esm" | "cjs" };
  const write = writers[key.space as keyof typeof writers];
  if (write === undefined) {
    throw new ForkpointError("UNSUPPORTED", `nothing resumes a value of the space ${JSON.stringify(key.space)}`);
  }
  const [framework, imports, body] = write(text(target), key, id);
  const lines = imports.map(([names, from]) =>
    module === "esm"
      ? `import { ${names} } from ${text(from)};`
      : `const { ${names.replaceAll(" as ", ": ")} } = require(${text(from)});`,
  );
  return [{ framework, language: "ts", code: `${lines.join("\n")}\n\n${body.join("\n")}\n` }];
}

/** Writes a text as a JSON string, in which no character can end a line or hide. */
function text(value: string): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

type Import = [names: string, from: string];
type Writer = (
  target: string,
  key: Key,
  id: string | undefined,
) => [framework: string, imports: Import[], body: string[]];

const writers = {
  agentos: (target, { run }, id) => [
    "AgentOS",
    [["CheckpointStore", "forkpoint/agentos"]],
    id === undefined
      ? [
          `const checkpointStore = new CheckpointStore(${target});`,
          "const graph = builder.compile({ checkpointStore }); // your graph",
          `const result = await graph.resume(${text(run)});`,
        ]
      : [
          `const checkpointStore = new CheckpointStore(${target});`,
          "const graph = builder.compile({ checkpointStore }); // your graph",
          `const run = await checkpointStore.fork(${text(id)}); // a new run that begins at the checkpoint`,
          "const result = await graph.resume(run);",
        ],
  ],
  agentium: (target, { run }, id) => [
    "Agentium",
    [["ForkpointWorkflowStore, Workflow", "forkpoint/agentium"]],
    [
      `const checkpointStore = new ForkpointWorkflowStore(${target});`,
      "const workflow = new Workflow({ ...definition, checkpointStore }); // your workflow",
      id === undefined
        ? `const result = await workflow.runWithCheckpoints({ runId: ${text(run)}, resume: true });`
        : `const result = await workflow.replay(${text(id)}, { newRun: true }); // the steps after it, as a new run`,
    ],
  ],
  langgraph: (target, { run, ns }, id) => [
    "LangGraph",
    [["ForkpointSaver", "forkpoint/langgraph"]],
    [
      `const checkpointer = new ForkpointSaver(${target});`,
      "const graph = builder.compile({ checkpointer }); // your graph",
      `const config = { configurable: { thread_id: ${text(run)}${ns === "" ? "" : `, checkpoint_ns: ${text(ns)}`}${
        id === undefined ? "" : `, checkpoint_id: ${text(id)}`
      } } };`,
      "const result = await graph.invoke(null, config);",
    ],
  ],
  tinyagents: (target, { run }, id) => [
    "TinyAgents",
    [["Checkpointer, Graph", "forkpoint/tinyagents"]],
    [
      `const checkpointer = new Checkpointer(${target});`,
      "const graph = new Graph({ ...definition, checkpointer }); // your graph",
      id === undefined
        ? `const result = await graph.resume(${text(run)});`
        : `const result = await graph.resumeFrom(${text(run)}, ${text(id)});`,
    ],
  ],
  helix: (target, { run }, id) => [
    "Helix",
    [["SessionStore", "forkpoint/helix"]],
    [
      `const store = new SessionStore(${target});`,
      ...(id === undefined || id === run ? [] : [`await store.rewindTo(${text(run)}, ${text(id)});`]),
      `const state = await store.loadState(${text(run)});`,
    ],
  ],
} satisfies Record<string, Writer>;
