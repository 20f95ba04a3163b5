/** The entry `forkpoint/langgraph` for `require`. */

import "../../bridge/bundled.js";
import peer = require("@langchain/langgraph-checkpoint");
import { saverOf } from "./entry.js";

export { recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
