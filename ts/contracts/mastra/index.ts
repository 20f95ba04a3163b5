/** The entry `forkpoint/mastra` for `require`. */

import { storeOf } from "./entry.js";
import peer = require("@mastra/core/storage");

export const ForkpointMastraStore = storeOf(peer);
