/** Storages for tests: Mastra's own, and of this package on each kind of target. */
import { LibSQLStore } from "@mastra/libsql";
import type { WorkflowRunState } from "@mastra/core/workflows";
import { ForkpointMastraStore, type MastraStoreOptions } from "forkpoint/mastra";
import { expect, onTestFinished } from "vitest";
import { type Kind, checkedAfter, folder, kinds, rejection } from "../../__test__/helpers.js";

export const storeAt = (
  target: ConstructorParameters<typeof ForkpointMastraStore>[0],
  options?: MastraStoreOptions,
): ForkpointMastraStore => checkedAfter(new ForkpointMastraStore(target, options));

export type Side = "InMemoryStore" | "LibSQLStore" | Kind;
export const sides: readonly Side[] = ["InMemoryStore", "LibSQLStore", ...kinds];

export async function libsql(): Promise<LibSQLStore> {
  const store = new LibSQLStore({ id: "libsql", url: `file:${folder()}/mastra.db` });
  await store.init();
  onTestFinished(() => store.close());
  return store;
}

/** A snapshot of a run. */
export function snapshot(fields: Record<string, unknown> = {}): WorkflowRunState {
  return {
    runId: "r",
    status: "running",
    value: {},
    context: { input: { n: 1 } },
    activePaths: [],
    activeStepsPath: {},
    serializedStepGraph: [],
    suspendedPaths: {},
    waitingPaths: {},
    resumeLabels: {},
    timestamp: 0,
    ...fields,
  } as unknown as WorkflowRunState;
}

export const at = { workflowName: "w", runId: "r" };

/** Expects an error of the package that is installed beside Mastra. */
export async function failure(promise: Promise<unknown>, code: string): Promise<Error> {
  const error = await rejection(promise);
  expect(error).toMatchObject({ name: "ForkpointError", code });
  return error;
}

export type Part = Record<string, unknown>;

/** What a model was asked: the roles and texts of its prompt. */
export type Prompt = string[];

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
export const say = (delta: string): Part[] => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: "stop", usage },
];
export const call = (toolName: string, input: object): Part[] => [
  { type: "tool-call", toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) },
  { type: "finish", finishReason: "tool-calls", usage },
];

/** A model that answers with a script, one entry for each question. */
export function scripted(script: Part[][], prompts: Prompt[] = []) {
  const doStream = async ({ prompt }: { prompt: Array<{ role: string; content: unknown }> }) => {
    const textOf = (content: unknown) =>
      typeof content === "string" ? content : (content as Part[]).map((part) => part["text"] ?? part["type"]).join(" ");
    prompts.push(prompt.map(({ role, content }) => `${role}: ${textOf(content)}`));
    return { stream: ReadableStream.from([{ type: "stream-start", warnings: [] }, ...(script.shift() ?? say("?"))]) };
  };
  const doGenerate = () => Promise.reject(new Error("only streams"));
  return { specificationVersion: "v2", provider: "test", modelId: "scripted", supportedUrls: {}, doGenerate, doStream };
}
