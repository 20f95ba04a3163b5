/** The entry `forkpoint/tinyagents`. */

import "../../bridge/bundled.js";
export { DrainController, RunDrainedError } from "../shared/drain.js";
export { Checkpointer } from "./checkpointer.js";
export { Command, END, START, Send } from "./command.js";
export { ERROR, INTERRUPT, RESUME } from "./constants.js";
export { Graph } from "./graph/graph.js";
