// Measures the event store of MCP servers: what an event costs in a short and in a long stream, what replays cost, and what
// notifications take on the disk. Run: `npm run bench -- mcp [--quick] [--write]`.
import { statSync } from "node:fs";
import { ForkpointEventStore } from "../dist/contracts/mcp/index.js";
import { clock, sized } from "./lib/measure.mjs";
import { inFolder, onDisk } from "./lib/peers.mjs";
import { bytes, machine, print, progress, table, time, write } from "./lib/report.mjs";

const LONG = sized(100_000, 5_000);
const SHORT = 100;
const ROUND = sized(2_000, 200);

/** A notification of 200 bytes. */
const notification = (n) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: {
    progressToken: 7,
    progress: n,
    total: LONG,
    message: `Row ${n} was read, checked and stored in the table of the orders of customers`,
  },
});

const goal = (figure, most) => (figure <= most ? "yes" : "**no**");

machine();
await inFolder(async (path) => {
  const store = new ForkpointEventStore(path("events.db"), { sessionId: "s", durability: "normal" });
  const ids = [];
  const fill = async (stream, count) => {
    for (let n = 0; n < count; n++) ids.push(await store.storeEvent(stream, notification(ids.length)));
  };
  await fill("warm", ROUND);
  await store.deleteSession();
  ids.length = 0;

  progress("events");
  await fill("stream", SHORT);
  const short = await clock(ROUND, () => fill("stream", ROUND));
  await fill("stream", LONG - ids.length - ROUND);
  const long = await clock(ROUND, () => fill("stream", ROUND));

  progress("replays");
  const replay = async (from) => {
    let sent = 0;
    let most = 0;
    await store.replayEventsAfter(ids[from], {
      send: async () => {
        sent += 1;
        if (sent % 1_000 === 0) most = Math.max(most, process.memoryUsage.rss());
      },
    });
    return { sent, most };
  };
  await replay(ids.length - 11);
  const last = await clock(10, async () => {
    for (let n = 0; n < 10; n++) await replay(ids.length - 11);
  });
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const start = performance.now();
  const { sent, most } = await replay(0);
  const whole = (performance.now() - start) * 1_000;
  if (sent !== ids.length - 1) throw new Error(`a replay of ${ids.length} events has sent ${sent}`);
  await store.close();

  progress("bytes");
  const file = path("bytes.db");
  const counted = new ForkpointEventStore(file, { sessionId: "s", durability: "off" });
  await counted.storeEvent("stream", {});
  await counted.close();
  const empty = onDisk(file);
  const again = new ForkpointEventStore(file, { sessionId: "s", durability: "off" });
  let given = 0;
  for (let n = 0; n < 10_000; n++) {
    given += JSON.stringify(notification(n)).length;
    await again.storeEvent("stream", notification(n));
  }
  await again.close();
  const each = (statSync(file).size - empty) / 10_000;

  const length = ids.length.toLocaleString("en");
  const grown = Math.max(0, most - before);
  table(
    ["events of a stream", "figure", "goal", "reached"],
    [
      [`an event after ${SHORT}`, `${time(short.wall)}, event loop ${time(short.loop)}`, "", ""],
      [
        `an event after ${LONG.toLocaleString("en")}`,
        `${time(long.wall)}, event loop ${time(long.loop)}`,
        "at most 1.5 times the one before",
        goal(long.wall, 1.5 * short.wall),
      ],
      ["a replay of the last 10", time(last.wall), "at most 10 ms", goal(last.wall, 10_000)],
      [`a replay of ${length}`, time(whole), "", ""],
      ["memory during this replay", `${bytes(grown)} more`, "at most 50 MB", goal(grown, 50e6)],
      [
        `a notification of ${Math.round(given / 10_000)} bytes, among 10,000 on the disk`,
        `${each.toFixed(1)} bytes`,
        "at most 40",
        goal(each, 40),
      ],
    ],
  );
  print();
});
write("mcp");
