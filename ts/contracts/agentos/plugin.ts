/** The plug-in of AgentOS: see {@link Plugin}. */

import { decodeMark } from "../../store/mark.js";
import type { Plugin } from "../../plugin/plugin.js";
import { withState } from "../../plugin/values.js";
import { forkRun } from "./fork.js";
import { placeOf, programOf } from "./graph.js";
import { questions } from "./questions.js";
import { restore } from "./stored.js";
import { agentos, openFound } from "./wire.js";

export const plugin: Plugin = {
  values: (parts, _, found) => withState(parts, found, ["id", "runId", "graphId", "nodeId", "timestamp", "state"]),
  why(_, { label }, status) {
    if (label === null) return null;
    if (status === "waiting") return `node ${JSON.stringify(label)} or another node waits for a human`;
    return status === "failed" ? "a node has a result but has not completed" : null;
  },
  async stand({ engine }, row, _, known) {
    const stored = await agentos.find(engine.native, "load", { runId: row.run, nodeId: undefined }, openFound);
    if (stored === null) return null;
    const checkpoint = restore(engine, stored);
    const mark = decodeMark(stored.mark);
    const program = mark.program ?? programOf(checkpoint.graphId);
    // The shape tells which nodes are ready.
    const { at } = placeOf(checkpoint, known(mark.shape));
    return {
      status: at.status,
      mark: { program, shape: mark.shape },
      position: (from) => placeOf(checkpoint, from).position,
    };
  },
  questions,
  fork: forkRun,
};
