// Runs one turn of a side: a graph over a new saver. The run is measured. The check of the result is not measured.
import { strictEqual } from "node:assert/strict";
import { clock, inTurns } from "../lib/measure.mjs";
import { inFolder, onDisk, settle } from "../lib/peers.mjs";
import { thread } from "./graphs.mjs";
import { sides } from "./sides.mjs";

/** Calls `work` with a new file of a side: `open(options)` opens the side, ours with options, and `bytes()` counts the file of a closed side. `target` is the file. */
export function inFile(name, work) {
  return inFolder((path) => {
    const file = path(`${name}.db`);
    const bytes = () => {
      settle(file);
      return onDisk(file);
    };
    return work({ open: (options) => sides[name](file, options), bytes, target: file });
  });
}

/**
 * `run(graph)` does `count` operations and resolves to the `result` for `check(graph, saver, result)`. Resolves to
 * `{ figures, modes }`: the figures per operation and the database mode, by side. `inPlace` is like `inFile`.
 */
export async function inRuns(names, { compile, count, run, check }, { inPlace = inFile, ...options }) {
  const modes = {};
  const turn = (name) => {
    return inPlace(name, async ({ open, bytes }) => {
      const side = await open();
      const graph = compile(side.saver);
      // The first call opens the file, so this call is made before the clock starts.
      await side.saver?.getTuple(thread("nobody"));
      let result;
      const figures = await clock(count, async () => {
        result = await run(graph);
      });
      await check(graph, side.saver, result);
      modes[name] = side.mode();
      await side.close();
      return { ...figures, size: await bytes() };
    });
  };
  return { figures: await inTurns(names, turn, options), modes };
}

/** Checks that the saver has `length` checkpoints of the thread. */
export async function checkLength(saver, config, length) {
  let found = 0;
  for await (const _ of saver.list(config)) found += 1;
  strictEqual(found, length);
}
