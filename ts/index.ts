import "./bundled.js";
export { CheckpointStore, recover, resumePlan } from "./agentos.js";
export { ForkpointError, isForkpointError } from "./errors.js";
export { openStore, Store } from "./store.js";
