// A rolling deploy: workers of the old and of the new version at the same time, and kills in the middle of it.
// @module-tag slow
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "./children.js";
import { durable, folder, place } from "./helpers.js";

it(
  `${durable}: each worker takes the threads that fit its version, whichever is killed`,
  { timeout: 120_000 },
  async () => {
    const database = place(durable);
    const journal = join(folder(), "effects.log");
    const ran = (thread: string) => {
      const lines = existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n") : [];
      return lines.filter((line) => line.startsWith(`${thread} `)).map((line) => line.split(" ")[1]);
    };
    const worker = (version: string, ...rest: string[]) =>
      new Child([database, journal, version, ...rest], {}, "deploy.mjs");
    const stopped = async (...args: [string, ...string[]]) => {
      const child = worker(...args);
      await child.until("stopped");
      return child;
    };
    // The old version is killed with a thread in each node.
    for (const [thread, node] of [
      ["new", "a"],
      ["half", "b"],
      ["late", "c"],
    ] as const) {
      await (await stopped("1", "start", thread, node)).kill();
    }
    const gone = "`b`, which is next, is gone; `b2` is new";
    const past = "`b`, which has run, is gone; `b2` is new";
    const dry = ["half: changed: " + gone, "late: changed: " + past, "new: would resume"];
    expect(await worker("2", "dry").end()).toEqual(dry);

    // The new version takes the thread that fits, and is killed in it. The others are left to the old version.
    await (await stopped("2", "recover", "", "b2")).kill();
    expect([ran("new"), ran("half"), ran("late")]).toEqual([["a"], ["a"], ["a", "b"]]);

    // Both versions start together.
    const [old, fresh] = [worker("1", "recover"), worker("2", "recover")];
    const [oldLog, freshLog] = [await old.end(), await fresh.end()];
    const byOld = oldLog!.filter((line) => line.endsWith(": finished"));
    const byFresh = freshLog!.filter((line) => line.endsWith(": finished"));
    expect(byOld).toEqual(["half: finished", "late: finished"]);
    expect(byFresh).toEqual(["new: finished"]);
    // No version ran a node that the thread of the other one does not have, and none ran twice.
    expect([ran("new"), ran("half"), ran("late")]).toEqual([
      ["a", "b2", "c"],
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
    for (const version of ["1", "2"]) expect(await worker(version, "recover").end()).toEqual([]);
  },
);
