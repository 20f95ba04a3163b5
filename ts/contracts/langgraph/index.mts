/** The entry `forkpoint/langgraph` for `import`. */

import { cacheOf, saverOf, storeOf, missingPeer } from "./entry.js";

// A static import would fail with the text of Node alone, before any code of this package runs.
const peer = await import("@langchain/langgraph-checkpoint").catch((cause: unknown) => {
  throw missingPeer("forkpoint/langgraph", "@langchain/langgraph-checkpoint", cause);
});

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
export const ForkpointStore = storeOf(peer);
export const ForkpointCache = cacheOf(peer);
