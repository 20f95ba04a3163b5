/** The entry `forkpoint/mastra` for `import`. */

import { storeOf } from "./entry.js";
import * as peer from "@mastra/core/storage";

export const ForkpointMastraStore = storeOf(peer);
