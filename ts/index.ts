/** The entry `forkpoint`. */

import "./bridge/bundled.js";
export { CheckpointStore, recover, resumePlan } from "./contracts/agentos/index.js";
export { copyStore } from "./inspect/copy.js";
export { ForkpointError, isForkpointError } from "./bridge/errors.js";
export { postgresSchema } from "./store/postgres.js";
export { openStore, Store } from "./store/store.js";
