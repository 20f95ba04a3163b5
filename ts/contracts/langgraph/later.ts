/** Modules that opening a saver, saving and reading do not need. They are loaded on first use. */

export { describe } from "./describe-graph.js";
export { exportTo } from "./export.js";
export { importFrom, importPostgresSaver, importSqliteSaver } from "./import.js";
export { listThreads } from "./list-threads.js";
export { recover } from "./recover-threads.js";
export { Resuming } from "./resuming.js";
export { hasStopped, status } from "./status.js";
export { undo } from "./undo.js";
export { copy, prune, remove, removeRuns } from "./threads.js";
export { Entries } from "./store/entries.js";
export { Items } from "./store/items.js";
export { operationsOf } from "./store/operations.js";
