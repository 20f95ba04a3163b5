/** Reads where the open runs of a program stand, for each framework. */

import { formatOf } from "../bridge/serializer.js";
import { restore } from "../contracts/agentos/stored.js";
import { placeOf, programOf } from "../contracts/agentos/graph.js";
import { agentos, openFound as openRun } from "../contracts/agentos/wire.js";
import { positionAfter } from "../contracts/agentium/shape.js";
import { positionOf as langgraphPosition } from "../contracts/langgraph/position.js";
import { standing } from "../contracts/langgraph/status.js";
import type { ProgramDescription } from "../store/description.js";
import { Checkpointer } from "../contracts/tinyagents/checkpointer.js";
import { loadCheckpoint, shapeIn } from "../contracts/tinyagents/graph/recorder.js";
import { positionOf as graphPosition } from "../contracts/tinyagents/graph/shape.js";
import { handleOf } from "../store/handles.js";
import { type Mark, decodeMark } from "../store/mark.js";
import type { ProgramPosition, ProgramShape } from "../store/program.js";
import type { Context } from "./context.js";
import { saverOf } from "./status.js";
import type { Row } from "./wire.js";
import type { Status } from "./views.js";

/** A run, as its newest checkpoint describes it. */
export interface Standing {
  status: Status;
  mark: Pick<Mark, "program" | "shape">;
  /** Returns the position of the run. `from` is the program that made it, or this version if the program is not known. */
  position(from: ProgramShape): ProgramPosition | Promise<ProgramPosition>;
}

type Reader = (context: Context, row: Row, status: Status) => Promise<Standing | null>;

/**
 * Returns the function that reads how a run stands. It returns null for a run that was removed. `known` returns the program with
 * this hash, or the new version if the store does not know it.
 */
export function readerOf(
  space: ProgramDescription["space"],
  known: (hash: string | undefined) => ProgramShape,
): Reader {
  const readers: Record<ProgramDescription["space"], Reader> = {
    async agentium(_, row, status) {
      const stepIndex = Number(row.meta?.["stepIndex"] ?? -1);
      const shape = row.shape ?? undefined;
      const { program } = shape === undefined ? {} : known(shape);
      return { status, mark: { program, shape }, position: (from) => positionAfter(stepIndex, from) };
    },

    async tinyagents({ store }, row) {
      const checkpointer = new Checkpointer(store);
      const format = handleOf(checkpointer)?.format ?? formatOf("v8");
      const thread = { threadId: row.run, namespace: [] };
      const loaded = await loadCheckpoint(checkpointer, thread, undefined, format);
      if (loaded === null) return null;
      const { activations, checkpoint } = loaded;
      const shape = shapeIn(checkpoint);
      const { graph } = checkpoint.metadata as { graph?: string };
      return {
        status: statusOfTasks(activations),
        mark: { program: graph, shape },
        position: (from) => graphPosition(checkpointer, thread, loaded, from, format),
      };
    },

    async langgraph(context, row) {
      const found = await standing(saverOf(context), row.run);
      if (found === null) return null;
      const { status, mark } = found;
      return { status, mark, position: (from) => langgraphPosition(saverOf(context), found.found, from) };
    },

    async agentos({ engine }, row) {
      const stored = await agentos.find(engine.native, "load", { runId: row.run, nodeId: undefined }, openRun);
      if (stored === null) return null;
      const checkpoint = restore(engine, stored);
      const mark = decodeMark(stored.mark);
      const program = mark.program ?? programOf(checkpoint.graphId);
      // The shape says which nodes are ready.
      const { at } = placeOf(checkpoint, known(mark.shape));
      return {
        status: at.status,
        mark: { program, shape: mark.shape },
        position: (from) => placeOf(checkpoint, from).position,
      };
    },
  };
  return readers[space];
}

function statusOfTasks(
  tasks: ReadonlyArray<{ record: { result: unknown; question: unknown; error: unknown } }>,
): Status {
  const open = tasks.filter(({ record }) => record.result === undefined);
  if (open.some(({ record }) => record.question !== undefined)) return "waiting";
  if (open.some(({ record }) => record.error !== undefined)) return "failed";
  return tasks.length > 0 ? "unfinished" : "finished";
}
