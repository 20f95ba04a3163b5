// A turn of a side: a graph over a new saver, run inside the clock and checked outside of it.
import { strictEqual } from "node:assert/strict";
import { clock, inTurns } from "../lib/measure.mjs";
import { inFolder, onDisk, settle } from "../lib/peers.mjs";
import { thread } from "./graphs.mjs";
import { sides } from "./sides.mjs";

/**
 * `run(graph)` is `count` operations, and resolves to what `check(graph, saver, result)` looks at. Resolves to the figures
 * for each operation by name, and to the sides' modes.
 */
export async function inRuns(names, { compile, count, run, check }, options) {
  const modes = {};
  const turn = (name) => {
    return inFolder(async (path) => {
      const file = path(`${name}.db`);
      const side = sides[name](file);
      const graph = compile(side.saver);
      // A file is opened by the first call.
      await side.saver?.getTuple(thread("nobody"));
      let result;
      const figures = await clock(count, async () => {
        result = await run(graph);
      });
      await check(graph, side.saver, result);
      modes[name] = side.mode();
      await side.close();
      settle(file);
      return { ...figures, size: onDisk(file) };
    });
  };
  return { figures: await inTurns(names, turn, options), modes };
}

/** That a saver has as many checkpoints of a thread as its graph made. */
export async function checkLength(saver, config, length) {
  let found = 0;
  for await (const _ of saver.list(config)) found += 1;
  strictEqual(found, length);
}
