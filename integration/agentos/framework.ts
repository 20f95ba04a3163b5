/**
 * Imports the real framework from the path that its users import. The types come from the individual modules of that
 * path, because the declarations of the whole path do not compile under `moduleResolution: nodenext` without
 * `skipLibCheck`.
 */

import type { CompiledAgentGraph } from "@framers/agentos/orchestration/builders/AgentGraph";
import type { ICheckpointStore } from "@framers/agentos/orchestration/checkpoint";

type Parts = typeof import("@framers/agentos/orchestration/builders/AgentGraph") &
  typeof import("@framers/agentos/orchestration/builders/WorkflowBuilder") &
  typeof import("@framers/agentos/orchestration/builders/MissionBuilder") &
  typeof import("@framers/agentos/orchestration/builders/nodes") &
  typeof import("@framers/agentos/orchestration/checkpoint");

/** A compiled graph. */
export type Compiled = ReturnType<CompiledAgentGraph["toIR"]>;
export type GraphNode = Compiled["nodes"][number];
export type GraphEvent = ReturnType<CompiledAgentGraph["stream"]> extends AsyncIterable<infer E> ? E : never;
export type RuntimeDeps = NonNullable<NonNullable<Parameters<Parts["AgentGraph"]["prototype"]["compile"]>[0]>["deps"]>;

/** The runtime that the builders' `resume()` uses. It also gives access to the events. */
interface Runtime {
  streamResume(graph: Compiled, runOrCheckpointId: string): AsyncIterable<GraphEvent>;
}

const whole: string = "@framers/agentos/orchestration";
const orchestration = (await import(whole)) as Parts & {
  LoopController: new () => object;
  NodeExecutor: new (deps: RuntimeDeps) => object;
  GraphRuntime: new (config: { checkpointStore: ICheckpointStore; nodeExecutor: object }) => Runtime;
};

export const { AgentGraph, START, END, workflow, mission, InMemoryCheckpointStore } = orchestration;
export const { toolNode, routerNode, humanNode, gmiNode, LoopController } = orchestration;

/** Returns the events of a resume. */
export function streamResume(graph: Compiled, id: string, checkpointStore: ICheckpointStore, deps: RuntimeDeps) {
  const nodeExecutor = new orchestration.NodeExecutor(deps);
  return new orchestration.GraphRuntime({ checkpointStore, nodeExecutor }).streamResume(graph, id);
}
