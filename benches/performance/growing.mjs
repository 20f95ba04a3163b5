// Measures a run that grows to 2 MB: its bytes on the disk, its wall time and its event-loop time.
import { CheckpointStore } from "../../dist/index.js";
import { clock, inTurns, sized } from "../lib/measure.mjs";
import { inFolder, onDisk, settle, sqliteSaver } from "../lib/peers.mjs";
import { bytes, progress, time } from "../lib/report.mjs";
import { growingRun } from "../lib/states.mjs";

const STEPS = sized(1000, 100);

export async function growing() {
  const sides = {
    async ours(file) {
      const store = new CheckpointStore(file);
      const run = growingRun();
      const times = await clock(1, async () => {
        for (let step = 0; step < STEPS; step++) await store.save(run.step());
      });
      await store.close();
      return times;
    },
    async theirs(file) {
      const saver = await sqliteSaver(file);
      const run = growingRun();
      const times = await clock(1, async () => {
        for (let step = 0; step < STEPS; step++) {
          run.step();
          await saver.put(run.state);
        }
      });
      mode = saver.mode();
      saver.close();
      return times;
    },
  };
  let mode = "";
  const turn = (name) => {
    progress(`a run of ${STEPS} steps, ${name}`);
    return inFolder(async (path) => {
      const file = path("growing.db");
      const times = await sides[name](file);
      settle(file);
      return { ...times, size: onDisk(file) };
    });
  };
  const { ours, theirs } = await inTurns(["ours", "theirs"], turn, { rounds: sized(3, 1), warm: false });
  const peer = `SqliteSaver: ${mode}`;
  const work = `${STEPS.toLocaleString("en")} steps growing to ${bytes(STEPS * 2000)}`;
  const both = { work, mode: "WAL, FULL", peer };
  return [
    { ...both, what: "bytes on disk", ours: ours.size, theirs: theirs.size, unit: bytes, goal: 250 },
    { ...both, what: "wall time", ours: ours.wall, theirs: theirs.wall, unit: time, goal: 4 },
    { ...both, what: "event loop", ours: ours.loop, theirs: theirs.loop, unit: time, goal: 5 },
  ];
}
