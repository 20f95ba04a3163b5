// The two kinds of databases of the everyday case. Each calls `work` with a database:
//
// - `name`, and `variant`, which is the time that is added to each round trip, or empty. `isServer` is whether there are any.
// - `delays`: the measured delays in ms. `setDelay(ms)` sets one, and resets the counters.
// - `inPlace(name, work)`: calls `work({ open, bytes })` with a new database for a side, as `inFile` does
// - `counted()`: what went over the wire
import { inFile } from "../langgraph/turns.mjs";
import { delayed } from "../lib/figures.mjs";
import { sized } from "../lib/measure.mjs";

export const databases = {
  sqlite: (work) => work({ name: "SQLite", variant: "", isServer: false, delays: [0], setDelay() {}, inPlace: inFile }),

  async postgres(work) {
    const { names, onServer } = await import("../postgres/database.mjs");
    const { sides } = await import("../postgres/sides.mjs");
    return onServer((server) => {
      let delay = 0;
      const { wire } = server;
      const opened = async (name, url, options) => {
        const { saver, close } = await sides[name](url, options);
        return { saver, close, mode: () => (name === "ours" ? server.mode : names[name]) };
      };
      return work({
        name: "Postgres",
        isServer: true,
        get variant() {
          return delayed(delay);
        },
        delays: sized([0, 1], [0]),
        async setDelay(ms) {
          delay = ms;
          await wire.reset(ms);
        },
        inPlace(name, work) {
          if (name === "memory") return inFile(name, work);
          return server.with(name, async (_, { database, url }) => {
            await wire.reset(delay);
            const bytes = async () => {
              // A server does that by itself after a minute, which would be in the turn of another side.
              await server.server.query("VACUUM (ANALYZE)", [], { database });
              await server.settle();
              return (await server.sizes(database)).stored;
            };
            return work({ open: (options) => opened(name, url, options), bytes, target: url });
          });
        },
        counted: () => wire.counted(),
      });
    });
  },
};
