import "./bundled.js";
export { generateCheckpointId, parseCheckpointId } from "./helix/checkpoint-id.js";
export { SessionStore } from "./helix/store.js";
