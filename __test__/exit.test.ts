import { describe, expect, test } from "vitest";
import { durable, ids, open, place, run, windows } from "./helpers.js";
import { holdFile } from "./lock.js";

const home = () => place(durable);
/** True if the target is a file. Some tests make other files beside it, or lock it. */
const isFile = durable === "sqlite";
const all = Array.from({ length: 50 }, (_, i) => `c-${i}`);

/** Returns the ids of the checkpoints in the file, in the order in which a child process saved them. */
async function left(target: string): Promise<string[]> {
  return ids(await open(target).list("graph")).toReversed();
}

describe("un-awaited saves are stored", () => {
  test.each(["natural", "close", "close without waiting", "exit"])("%s", async (ending) => {
    const target = home();
    expect(await run("exit.mjs", [ending, target])).toMatchObject({ code: 0, signal: null, errors: "" });
    expect(await left(target)).toEqual(all);
  });

  test("a rejection that nobody catches", async () => {
    const target = home();
    const { code, errors } = await run("exit.mjs", ["rejection", target]);
    expect(code).toBe(1);
    expect(errors).toContain("as the test wants");
    expect(await left(target)).toEqual(all);
  });

  test("although another save rejects and nobody catches the rejection", async () => {
    const target = home();
    const { code, errors } = await run("exit.mjs", ["refused save", target]);
    expect(code).toBe(1);
    expect(errors).toContain("checkpoint.bad cannot be stored");
    expect(await left(target)).toEqual(all);
  });

  test("large ones, which take another way, and small ones that overtake them", async () => {
    const target = home();
    expect(await run("exit.mjs", ["large saves", target])).toMatchObject({ code: 0, errors: "" });
    expect((await left(target)).toSorted()).toEqual(all.slice(0, 12).toSorted());
  });

  test.runIf(isFile)("of several stores", async () => {
    const target = home();
    expect(await run("exit.mjs", ["several stores", target])).toMatchObject({ code: 0, errors: "" });
    for (const part of ["", "-2", "-3"]) expect(await left(`${target}${part}`)).toEqual(all);
  });

  test("with reads and a delete that are still to be answered", async () => {
    const target = home();
    expect(await run("exit.mjs", ["pending reads", target])).toMatchObject({ code: 0, errors: "" });
    expect(await left(target)).toEqual(all.slice(0, -1));
  });

  test.runIf(isFile)("of stores that nothing else refers to", async () => {
    const target = home();
    expect(await run("exit.mjs", ["collected", target])).toMatchObject({ code: 0, errors: "" });
    for (const part of [0, 1]) expect(await left(`${target}-${part}`)).toHaveLength(all.length);
  });
});

test.skipIf(windows || !isFile)("what a lock kept from being stored is said", async () => {
  const target = home();
  const holder = await holdFile(target);
  try {
    const { code, errors } = await run("exit.mjs", ["locked", target]);
    expect(code).toBe(0);
    const lines = errors.trim().split("\n");
    const failed = lines.map((line) => /^forkpoint: (\d) calls? failed while the process ended: BUSY: /.exec(line)![1]);
    // Two saves, a prune and a vacuum. They wait together, and calls with the same error share a line. The opening is the fifth call. It
    // fails, too, if the holder was stopped where no other process can open the file.
    const calls = failed.reduce((sum, count) => sum + Number(count), 0);
    expect([4, 5], errors).toContain(calls);
  } finally {
    await holder.end();
  }
});

describe("waiting holds the process, an open store does not", () => {
  test("top-level await", async () => {
    expect(await run("top-level.mjs", [home()])).toMatchObject({ code: 0, errors: "", lines: ["a", "1", "1"] });
  });

  test("a save that is called when the loop was already empty", async () => {
    expect(await run("exit.mjs", ["beforeExit", home()])).toMatchObject({ code: 0, errors: "", lines: ["late"] });
  });

  const onFiles: Array<[string, string[]]> = [
    ["idle", []],
    ["failed", ["CORRUPT"]],
  ];
  test.each<[string, string[]]>([
    ...(isFile ? onFiles : []),
    ["worked", ["a", "done"]],
    ["memory", ["a"]],
    ["close", ["closed"]],
  ])("%s", async (ending, lines) => {
    expect(await run("exit.mjs", [ending, home()])).toMatchObject({ code: 0, signal: null, errors: "", lines });
  });
});
