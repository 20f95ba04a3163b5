// Compares small reads with a Map and structuredClone. No store in the same process can read at a lower cost than these
// two, so Forkpoint is slower.
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { progress, time } from "../lib/report.mjs";
import { checkpoint } from "../lib/states.mjs";

const id = (i) => `checkpoint-${(i * 37) % 100}`;

export function floor() {
  return inFolder(async (path) => {
    progress("small reads");
    const [file, memory, map] = [new CheckpointStore(path("ours.db")), new CheckpointStore("memory:"), new Map()];
    for (let i = 0; i < 100; i++) {
      const one = checkpoint(i);
      map.set(one.id, one);
      await Promise.all([file.save(one), memory.save(one)]);
    }
    const result = await compare(
      {
        file: (i) => file.get(id(i)),
        memory: (i) => memory.get(id(i)),
        map: (i) => structuredClone(map.get(id(i))),
      },
      { count: sized(1000, 100) },
    );
    await Promise.all([file.close(), memory.close()]);
    const row = (what, mode, figure, side, detail = false) => ({
      work: "get of 10 KB",
      what,
      mode,
      peer: "Map + structuredClone: no disk",
      ours: side[figure],
      theirs: result.map[figure],
      unit: time,
      detail,
    });
    return [
      row("wall time", "WAL, FULL", "wall", result.file),
      row("event loop", "WAL, FULL", "loop", result.file),
      row("wall time", "memory:", "wall", result.memory, true),
    ];
  });
}
