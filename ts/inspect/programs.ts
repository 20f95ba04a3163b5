/**
 * The programs that go on with a run, one function for each framework. Ids and questions stand in them as JSON. A program
 * whose answer is missing ends with an error, before it changes anything.
 */

import type { Ask, Position } from "./position.js";
import type { Status } from "./views.js";

/** What to go on with. */
export interface Plan {
  target: string;
  run: string;
  ns: string;
  /** The checkpoint at which a branch or a new run begins. Undefined: the run goes on where it stands. */
  id: string | undefined;
  position: Position;
}

export interface Program {
  framework: string;
  imports: Array<[names: string, from: string]>;
  body: string[];
}

export const programs = { agentos, agentium, langgraph, tinyagents, helix };

const CUT_OFF = "// The run was cut off, or a process still works on it.";
const UNKNOWN = "// The newest checkpoint does not say whether the run has finished. If it has, nothing runs.";
const FINISHED = "// The run has finished: there is nothing to resume. This shows its checkpoints.";
const WAITS = "// The run waits for a human. Without the answer, nothing runs.";
const FAILED = "// A node has failed. It may have had its effect: it runs again only if you say that this is safe.";
const NO_ANSWER = 'throw new Error("an answer is missing: fill it in above, or remove its line");';

/** Writes a value as JSON, in which no character can end a line or hide. */
function text(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function endOf(status: Status): string {
  if (status === "waiting") return "// The run waits for a human, with a question that has no id. This reports it.";
  return status === "unknown" ? UNKNOWN : CUT_OFF;
}

/** Asks the reader for the answers. `keyOf` writes the key of an answer. */
function answers(asks: readonly Ask[], keyOf: (ask: Ask) => string): string[] {
  return [
    WAITS,
    "const answers = new Map([",
    ...asks.map((ask) => `  [${keyOf(ask)}, undefined], // fill in the answer${questionOf(ask)}`),
    "]);",
    `if ([...answers.values()].some((answer) => answer === undefined)) ${NO_ANSWER}`,
  ];
}

function questionOf({ question }: Ask): string {
  return typeof question === "string" ? ` to ${text(question.slice(0, 200))}` : "";
}

/** Asks the reader which of the failed nodes run again. */
function retries(failed: readonly string[]): string[] {
  const nodes = [...new Set(failed)].map((node) => `  [${text(node)}, false], // true: run it again`);
  return [FAILED, "const retry = new Map([", ...nodes, "]);"];
}

/** The option of `recover` with what the reader has said about the failed nodes. `nodes` is their name in its argument. */
function retryOption(nodes: string): string {
  return `  onFailed: ({ ${nodes} }) => (${nodes}.every((node) => retry.get(node)) ? "retry" : "leave"),`;
}

/** Calls `recover`, which passes no question without its answer. */
function recover(args: string, options: readonly string[]): string[] {
  const [only, ...others] = options;
  const call = `const { runs } = await recover(${args}, {`;
  const lines = others.length === 0 ? [`${call} ${only!.trim().slice(0, -1)} });`] : [call, ...options, "});"];
  return [...lines, "console.log(runs);"];
}

function agentos({ target, run, id, position: { status, asks, failed } }: Plan): Program {
  const from = "forkpoint/agentos";
  const store = `const checkpointStore = new CheckpointStore(${text(target)});`;
  if (id === undefined && status === "finished") {
    const list = `for (const { id, nodeId } of await checkpointStore.listByRun(${text(run)})) console.log(id, nodeId);`;
    const fork = "// await checkpointStore.fork(id, patch) begins a new run at one of them";
    return { framework: "AgentOS", imports: [["CheckpointStore", from]], body: [FINISHED, store, list, fork] };
  }
  const [head, option] =
    asks.length > 0
      ? [answers(asks, (ask) => text(ask.id)), ["  onWaiting: ({ nodeId }) => answers.get(nodeId),"]]
      : failed.length > 0
        ? [retries(failed), [retryOption("nodes")]]
        : [id === undefined ? [endOf(status)] : [], []];
  const fork = `const run = await checkpointStore.fork(${text(id ?? "")}); // a new run that begins at the checkpoint`;
  const body = [
    ...head,
    store,
    "const graph = builder.compile({ checkpointStore }); // your graph, with your tools",
    ...(id === undefined ? [] : [fork]),
    ...recover("graph, checkpointStore", [`  runs: [${id === undefined ? text(run) : "run"}],`, ...option]),
  ];
  return { framework: "AgentOS", imports: [["CheckpointStore, recover", from]], body };
}

function agentium({ target, run, id, position: { status } }: Plan): Program {
  const from = "forkpoint/agentium";
  const store = `const checkpointStore = new ForkpointWorkflowStore(${text(target)});`;
  if (id === undefined && status === "finished") {
    const list = `for (const { id, stepName } of await checkpointStore.list(${text(run)})) console.log(id, stepName);`;
    const fork = "// await workflow.fork(id, mutator) begins a new run at one of them";
    return { framework: "Agentium", imports: [["ForkpointWorkflowStore", from]], body: [FINISHED, store, list, fork] };
  }
  const body = [
    ...(id === undefined ? [endOf(status)] : []),
    store,
    "const workflow = new Workflow({ ...definition, checkpointStore }); // your workflow",
    id === undefined
      ? `const result = await workflow.runWithCheckpoints({ runId: ${text(run)}, resume: true });`
      : `const result = await workflow.replay(${text(id)}, { newRun: true }); // the steps after it, as a new run`,
    "console.log(result);",
  ];
  return { framework: "Agentium", imports: [["ForkpointWorkflowStore, Workflow", from]], body };
}

function langgraph({ target, run, ns, id, position: { status, asks, failed } }: Plan): Program {
  const from = "forkpoint/langgraph";
  const store = [
    `const checkpointer = new ForkpointSaver(${text(target)});`,
    "const graph = builder.compile({ checkpointer }); // your graph",
  ];
  const place = (...fields: string[]) => `{ configurable: { ${[`thread_id: ${text(run)}`, ...fields].join(", ")} } }`;
  if (id === undefined && status === "finished") {
    const list = `for await (const { config, next } of graph.getStateHistory(${place()})) console.log(config, next);`;
    const branch = "// await graph.updateState(config, update) begins a branch at one of them";
    return { framework: "LangGraph", imports: [["ForkpointSaver", from]], body: [FINISHED, ...store, list, branch] };
  }
  const imports: Program["imports"] = [["ForkpointSaver, recover", from]];
  const threads = `  threads: [${text(run)}],`;
  if (id !== undefined) {
    const fields = [...(ns === "" ? [] : [`checkpoint_ns: ${text(ns)}`]), `checkpoint_id: ${text(id)}`];
    const branch = `await graph.updateState(${place(...fields)}, null); // a branch that begins at the checkpoint`;
    return { framework: "LangGraph", imports, body: [...store, branch, ...recover("graph, checkpointer", [threads])] };
  }
  if (asks.length === 0) {
    const [head, option] = failed.length > 0 ? [retries(failed), [retryOption("next")]] : [[endOf(status)], []];
    const body = [...head, ...store, ...recover("graph, checkpointer", [threads, ...option])];
    return { framework: "LangGraph", imports, body };
  }
  const onWaiting = [
    "  onWaiting: ({ interrupts }) => {",
    "    const all = interrupts.map(({ id, value }) => [id, answers.get(JSON.stringify([id, value]))]);",
    "    const given = all.filter(([, answer]) => answer !== undefined);",
    "    return given.length > 0 ? new Command({ resume: Object.fromEntries(given) }) : undefined; // undefined: it waits",
    "  },",
  ];
  const body = [
    ...answers(asks, (ask) => `JSON.stringify(${text([ask.id, ask.question])})`),
    ...store,
    ...recover("graph, checkpointer", [threads, ...onWaiting]),
  ];
  return { framework: "LangGraph", imports: [["Command", "@langchain/langgraph"], ...imports], body };
}

const ofTinyAgents = (body: string[]): Program => ({
  framework: "TinyAgents",
  imports: [["Checkpointer, Graph", "forkpoint/tinyagents"]],
  body: [...body, "console.log(result);"],
});

function tinyagents({ target, run, ns, id, position: { status, asks, failed } }: Plan): Program {
  const store = [
    `const checkpointer = new Checkpointer(${text(target)});`,
    "const graph = new Graph({ ...definition, checkpointer }); // your graph",
  ];
  const options = ns === "" ? "" : `, { namespace: ${text(JSON.parse(ns))} }`;
  const resume = (command: string) => {
    const target = id === undefined ? `graph.resume(${text(run)}` : `graph.resumeFrom(${text(run)}, ${text(id)}`;
    return `const result = await ${target}${command === "" && options !== "" ? ", {}" : command}${options});`;
  };
  if (asks.length > 0 && id !== undefined) {
    const given = answers(asks, (ask) => text(ask.id));
    return ofTinyAgents([...given, ...store, resume(", { answers: Object.fromEntries(answers) }")]);
  }
  if (asks.length > 0) {
    // A task may ask one question after the other. A question that JSON cannot hold is known by its task alone.
    const isJson = asks.every(({ question }) => question !== undefined);
    const current = isJson ? "[id, interrupts.map(({ value }) => value)]" : "[id]";
    return ofTinyAgents([
      ...answers(asks, (ask) => `JSON.stringify(${text(isJson ? [ask.id, ask.question] : [ask.id])})`),
      ...store,
      `const state = await graph.getState(${text(run)}${ns === "" ? "" : `, null, ${text(JSON.parse(ns))}`});`,
      `const all = state?.tasks.map(({ id, interrupts }) => [id, answers.get(JSON.stringify(${current}))]);`,
      "const given = all?.filter(([, answer]) => answer !== undefined) ?? [];",
      resume(", { answers: Object.fromEntries(given) }"),
    ]);
  }
  if (id !== undefined) return ofTinyAgents([...store, resume("")]);
  if (status !== "finished")
    return ofTinyAgents([
      failed.length > 0 ? "// A node has failed. A resume runs it again." : endOf(status),
      ...store,
      resume(""),
    ]);
  const list = `const result = await graph.getStateHistory(${text(run)}${options});`;
  return ofTinyAgents([FINISHED, ...store, list, "// graph.resumeFrom and graph.forkState go on from one of them"]);
}

const ofHelix = (body: string[]): Program => ({
  framework: "Helix",
  imports: [["SessionStore", "forkpoint/helix"]],
  body,
});

function helix({ target, run, id, position: { status, messages } }: Plan): Program {
  const store = `const store = new SessionStore(${text(target)});`;
  if (id === undefined && (status === "finished" || status === "unknown")) {
    return ofHelix([
      status === "finished" ? FINISHED : "// The session's status does not say whether there is something to resume.",
      store,
      `console.log(await store.loadState(${text(run)}));`,
      `console.log((await store.listCheckpoints(${text(run)})).items);`,
      "// await store.branchSession(id, newSessionId) begins a new session at one of them",
    ]);
  }
  const session =
    id === undefined
      ? [`const sessionId = ${text(run)};`]
      : [
          "const sessionId = crypto.randomUUID(); // a new session that begins at the checkpoint",
          `const { state } = await store.branchSession(${text(id)}, sessionId);`,
        ];
  if (status === "waiting") {
    const count = `if ((await store.getMessageCount(sessionId)) !== ${messages}) throw new Error("the session has gone on: print this again");`;
    return ofHelix([
      WAITS,
      "const answer = undefined; // fill in what the human says",
      `if (answer === undefined) ${NO_ANSWER.replace(" above, or remove its line", " above")}`,
      store,
      ...session,
      ...(id === undefined ? [count] : []),
      'const isOpen = await store.compareAndSetStatus(sessionId, ["interrupted", "paused"], "running");',
      'if (!isOpen) throw new Error("the session does not wait for an answer any more");',
      'await store.appendMessages(sessionId, [{ role: "user", content: answer }]);',
      "await runAgent(sessionId); // your agent",
    ]);
  }
  const rewind = [
    "const latest = await store.getLatestCheckpoint(sessionId);",
    'if (latest === null) throw new Error("the session has no checkpoint: delete it and begin again");',
    "const { state } = await store.rewindTo(sessionId, latest.id); // drops what the step that was cut off has left",
  ];
  return ofHelix([
    ...(id === undefined ? [CUT_OFF.replace("run", "session")] : []),
    store,
    ...session,
    ...(id === undefined ? rewind : []),
    'if (["active", "running"].includes(state.status)) await runAgent(sessionId); // your agent',
    "console.log(state.status);",
  ]);
}
