export { Checkpointer } from "./tinyagents/checkpointer.js";
export { ERROR, INTERRUPT, RESUME } from "./tinyagents/constants.js";
