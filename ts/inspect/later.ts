/** What the entry `forkpoint` loads when it is needed. */

export { copyStore } from "./copy-runs.js";
