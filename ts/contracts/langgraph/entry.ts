/** What the two entries `forkpoint/langgraph` have in common. */

export { recover } from "./recover.js";
export { saverOf } from "./saver.js";
