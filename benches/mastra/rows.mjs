// Makes rows of figures beside Mastra's own stores.
import { time } from "../lib/report.mjs";

const PEERS = { libsql: "LibSQLStore", memory: "InMemoryStore" };
const WHAT = { wall: "wall time", loop: "event loop" };

/** The rows of a call's times. `figures` are by side. */
export const rowsOf = (work, figures) =>
  Object.entries(WHAT).flatMap(([figure, what]) =>
    Object.entries(PEERS).map(([side, peer]) => {
      const [ours, theirs] = [figures.ours[figure], figures[side][figure]];
      return { work, what, mode: "WAL, FULL", peer, ours, theirs, unit: time };
    }),
  );
