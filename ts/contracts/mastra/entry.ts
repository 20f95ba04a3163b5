/** The shared part of the two entries of `forkpoint/mastra`. */

import "../../bridge/bundled.js";
export { missingPeer } from "../../bridge/peer.js";
export { storeOf } from "./store.js";
