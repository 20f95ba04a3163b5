/** Modules that opening a store, saving and reading do not need. They are loaded on first use. */

export { Answers } from "./answers.js";
export { Stops } from "./stops.js";
export { undo } from "./undo.js";
