/** The entry `forkpoint/langgraph` for `require`. */

import { cacheOf, saverOf, storeOf, missingPeer } from "./entry.js";

const peer = load();

function load(): typeof import("@langchain/langgraph-checkpoint") {
  try {
    return require("@langchain/langgraph-checkpoint");
  } catch (cause) {
    throw missingPeer("forkpoint/langgraph", "@langchain/langgraph-checkpoint", cause);
  }
}

export { describe, recover } from "./entry.js";
export const ForkpointSaver = saverOf(peer);
export const ForkpointStore = storeOf(peer);
export const ForkpointCache = cacheOf(peer);
