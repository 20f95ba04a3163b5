import "./bundled.js";
export { CheckpointStore, recover, resumePlan } from "./agentos.js";
export { copyStore } from "./copy.js";
export { ForkpointError, isForkpointError } from "./errors.js";
export { postgresSchema } from "./postgres.js";
export { openStore, Store } from "./store.js";
