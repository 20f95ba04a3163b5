export { CheckpointStore, resumePlan } from "./agentos.js";
export { ForkpointError } from "./errors.js";
export { openStore, Store } from "./store.js";
