/** The entry `forkpoint/langgraph` for `import`. */

import "../../bridge/bundled.js";
import * as peer from "@langchain/langgraph-checkpoint";
import { saverOf } from "./saver.js";

export { recover } from "./recovery.js";
export const ForkpointSaver = saverOf(peer);
