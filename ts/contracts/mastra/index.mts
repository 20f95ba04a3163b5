/** The entry `forkpoint/mastra` for `import`. */

import { storeOf, missingPeer } from "./entry.js";

// A static import would fail with the text of Node alone, before any code of this package runs.
const peer = await import("@mastra/core/storage").catch((cause: unknown) => {
  throw missingPeer("forkpoint/mastra", "@mastra/core", cause);
});

export const ForkpointMastraStore = storeOf(peer);
