// The compared savers, each with its default options: over a new file, in memory, or none at all.
import { mode } from "../lib/peers.mjs";
import { ForkpointSaver, MemorySaver, SqliteSaver } from "./packages.mjs";

export const sides = {
  ours(file) {
    const saver = new ForkpointSaver(file);
    return { saver, mode: () => "WAL, FULL", close: () => saver.close() };
  },
  theirs(file) {
    const saver = SqliteSaver.fromConnString(file);
    // SqliteSaver sets its mode at its first call, so read the mode later.
    return { saver, mode: () => `SqliteSaver: ${mode(saver.db)}`, close: () => saver.db.close() };
  },
  memory() {
    return { saver: new MemorySaver(), mode: () => "MemorySaver: no disk", close() {} };
  },
  /** No saver: the cost of LangGraph alone. */
  none() {
    return { saver: undefined, mode: () => "no checkpointer", close() {} };
  },
};
