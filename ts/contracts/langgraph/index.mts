/** The entry `forkpoint/langgraph` for `import`. */

import { cacheOf, saverOf, storeOf } from "./entry.js";
import * as peer from "@langchain/langgraph-checkpoint";

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
export const ForkpointStore = storeOf(peer);
export const ForkpointCache = cacheOf(peer);
