/** What the two entries of `forkpoint/langgraph` have in common. */

import "../../bridge/bundled.js";
export { recover } from "./recover.js";
export { saverOf } from "./saver.js";
