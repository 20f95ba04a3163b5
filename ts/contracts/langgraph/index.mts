/** The entry `forkpoint/langgraph` for `import`. */

import { saverOf } from "./entry.js";
import * as peer from "@langchain/langgraph-checkpoint";

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
