import "./bundled.js";
export { DrainController, RunDrainedError } from "./drain.js";
export { Checkpointer } from "./tinyagents/checkpointer.js";
export { Command, END, START, Send } from "./tinyagents/command.js";
export { ERROR, INTERRUPT, RESUME } from "./tinyagents/constants.js";
export { Graph } from "./tinyagents/graph.js";
