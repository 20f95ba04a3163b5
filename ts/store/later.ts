/** Code that is not needed to open a store, to save and to read. It is loaded when it is first needed. */

export { backup, restore } from "./backup.js";
export { check } from "./check.js";
export { Effects } from "./effects.js";
export { migrate } from "./migrate.js";
export { prune, stats, vacuum } from "./retention.js";
export { exclusive } from "./scope.js";
export { recordStop, stopRun } from "./stop.js";
