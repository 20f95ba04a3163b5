/** The entry `forkpoint/langgraph` for `import`. */

import "../../bridge/bundled.js";
import * as peer from "@langchain/langgraph-checkpoint";
import { saverOf } from "./entry.js";

export { recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
