/** The entry `forkpoint/mastra` for `require`. */

import { storeOf, missingPeer } from "./entry.js";

const peer = load();

function load(): typeof import("@mastra/core/storage") {
  try {
    return require("@mastra/core/storage");
  } catch (cause) {
    throw missingPeer("forkpoint/mastra", "@mastra/core", cause);
  }
}

export const ForkpointMastraStore = storeOf(peer);
