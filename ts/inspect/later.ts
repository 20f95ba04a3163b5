/** Modules that the entry `forkpoint` loads on first use. */

export { copyStore } from "./copy-runs.js";
