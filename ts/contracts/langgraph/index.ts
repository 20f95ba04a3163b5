/** The entry `forkpoint/langgraph` for `require`. */

import { cacheOf, saverOf, storeOf } from "./entry.js";
import peer = require("@langchain/langgraph-checkpoint");

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
export const ForkpointStore = storeOf(peer);
export const ForkpointCache = cacheOf(peer);
