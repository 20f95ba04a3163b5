/** The entry `forkpoint/langgraph` for `require`. */

import { saverOf } from "./entry.js";
import peer = require("@langchain/langgraph-checkpoint");

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
