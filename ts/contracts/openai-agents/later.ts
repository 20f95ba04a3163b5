/** Modules that opening a store, saving and reading do not need. They are loaded on first use. */

export { undo } from "./undo.js";
