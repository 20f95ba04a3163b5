/** The shared part of the two entries of `forkpoint/langgraph`. */

import "../../bridge/bundled.js";
export { missingPeer } from "../../bridge/peer.js";
export { describe } from "./describe.js";
export { recover } from "./recover.js";
export { saverOf } from "./saver.js";
export { cacheOf } from "./store/cache.js";
export { storeOf } from "./store/store.js";
