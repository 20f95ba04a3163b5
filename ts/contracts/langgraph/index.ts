/** The entry `forkpoint/langgraph` for `require`. */

import "../../bridge/bundled.js";
import peer = require("@langchain/langgraph-checkpoint");
import { saverOf } from "./saver.js";

export { recover } from "./recovery.js";
export const ForkpointSaver = saverOf(peer);
