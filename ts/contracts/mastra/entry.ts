/** What the two entries of `forkpoint/mastra` have in common. */

import "../../bridge/bundled.js";
export { missingPeer } from "../../bridge/peer.js";
export { storeOf } from "./store.js";
