// Measures savers, or a growing run, on a disk with a fixed sync, and prints the figures as JSON. Run by `onFixedDisk`:
// `node synced-turns.mjs savers|growing [--quick]`.
import { serialize } from "node:v8";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { syncs } from "../lib/sync.mjs";
import { measureGrowing } from "./growing.mjs";
import { saves } from "./savers.mjs";
import { withSides } from "./sides.mjs";
import { allNew, SAVERS, sliding } from "./work.mjs";

const names = ["ours", "lookup", "same"];
const together = { count: sized(2560, 640), concurrency: SAVERS, meter: syncs };

function savers() {
  return inFolder((path) => {
    return withSides(path, [...names, "log"], async (opened) => {
      const measured = {};
      for (const [kind, work] of Object.entries({ fresh: allNew, sliding })) {
        const next = work();
        const log = () => opened.log.together(next());
        // No store, and no sync: V8's serialiser alone.
        const v8 = () => void serialize(next().state);
        measured[kind] = await compare({ ...saves(opened, names, work), log, v8 }, together);
      }
      const one = { count: sized(1000, 50), meter: syncs };
      measured.alone = await compare(saves(opened, [...names, "log"], allNew), one);
      return { measured, labels: Object.fromEntries(names.map((name) => [name, opened[name].label])) };
    });
  });
}

const works = { savers, growing: () => measureGrowing(syncs) };
console.log(JSON.stringify(await works[process.argv[2]]()));
