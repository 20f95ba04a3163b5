// The compared savers, each with its default options. A saver stores in a new file or in memory. One side has no saver.
import { mode } from "../lib/peers.mjs";
import { ForkpointSaver, MemorySaver, SqliteSaver } from "./packages.mjs";

export const sides = {
  ours(file, options) {
    const saver = new ForkpointSaver(file, options);
    return { saver, mode: () => "WAL, FULL", close: () => saver.close() };
  },
  theirs(file) {
    const saver = SqliteSaver.fromConnString(file);
    // SqliteSaver sets its mode at its first call, so the mode is read later.
    return { saver, mode: () => `SqliteSaver: ${mode(saver.db)}`, close: () => saver.db.close() };
  },
  memory() {
    return { saver: new MemorySaver(), mode: () => "MemorySaver: no disk", close() {} };
  },
  /** This side has no saver. It shows the cost of LangGraph alone. */
  none() {
    return { saver: undefined, mode: () => "no checkpointer", close() {} };
  },
};
