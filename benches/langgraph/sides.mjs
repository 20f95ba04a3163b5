// Who saves: each as it comes, over a new file or none.
import { mode } from "../lib/peers.mjs";
import { ForkpointSaver, MemorySaver, SqliteSaver } from "./packages.mjs";

export const sides = {
  ours(file) {
    const saver = new ForkpointSaver(file);
    return { saver, mode: () => "WAL, FULL", close: () => saver.close() };
  },
  theirs(file) {
    const saver = SqliteSaver.fromConnString(file);
    // What it sets is set by its first call.
    return { saver, mode: () => `SqliteSaver: ${mode(saver.db)}`, close: () => saver.db.close() };
  },
  memory() {
    return { saver: new MemorySaver(), mode: () => "MemorySaver: no disk", close() {} };
  },
  /** What LangGraph itself takes. */
  none() {
    return { saver: undefined, mode: () => "no checkpointer", close() {} };
  },
};
