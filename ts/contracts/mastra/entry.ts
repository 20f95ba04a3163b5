/** What the two entries of `forkpoint/mastra` have in common. */

import "../../bridge/bundled.js";
export { storeOf } from "./store.js";
