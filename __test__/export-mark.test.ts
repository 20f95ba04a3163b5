// Tests folders of text files that lack something: exports that were cut, and folders without their log.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { checkpoint, failure, folder, open, place } from "./helpers.js";

/** A store with these runs, of three checkpoints each. */
async function filled(target: string, ...runs: string[]): Promise<string> {
  const store = open(target);
  for (const runId of runs) {
    for (let n = 0; n < 3; n++) await store.save(checkpoint({ id: `${runId} ${n}`, runId, timestamp: n }));
  }
  await store.close();
  return target;
}

/** An export of a store of two runs. Returns its folder. */
async function exported(): Promise<string> {
  const path = join(folder(), "export");
  await copyStore(await filled(place("sqlite"), "one", "two"), `jsonl:${path}`);
  return path;
}

const cutLastLine = (path: string) => {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
};

const lineages = async (target: string) => (await copyStore(target, place("sqlite"))).lineages;

describe("an export", () => {
  test("has an end mark, and may be used as a store and copied again", async () => {
    const path = await exported();
    expect(JSON.parse(readFileSync(join(path, "export.json"), "utf8"))).toMatchObject({ complete: true });
    expect(await lineages(`jsonl:${path}`)).toBe(2);
    await filled(`jsonl:${path}`, "three");
    expect(await lineages(`jsonl:${path}`)).toBe(3);
    const store = await openStore(`jsonl:${path}`);
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    await store.vacuum();
    await store.close();
    expect(await lineages(`jsonl:${path}`)).toBe(3);
  });

  test("of an empty store is complete, too", async () => {
    const path = join(folder(), "export");
    await (await openStore(`jsonl:${path}`)).close();
    expect(existsSync(join(path, "export.json"))).toBe(false);
    const empty = place("sqlite");
    await (await openStore(empty)).close();
    await copyStore(empty, `jsonl:${path}`);
    expect(JSON.parse(readFileSync(join(path, "export.json"), "utf8"))).toMatchObject({ complete: true });
    expect(await lineages(`jsonl:${path}`)).toBe(0);
  });

  test("that has lost its last commit is refused", async () => {
    const path = await exported();
    cutLastLine(join(path, "order.jsonl"));
    const to = place("sqlite");
    const error = await failure(copyStore(`jsonl:${path}`, to), "CORRUPT");
    expect(error.message).toContain("has lost its last commits");
    // The destination was not created.
    expect(existsSync(to)).toBe(false);
  });

  test("that was interrupted is refused until it is finished", async () => {
    const [from, path] = [await filled(place("sqlite"), "one", "two"), join(folder(), "export")];
    const stop = new AbortController();
    const options = { signal: stop.signal, onProgress: () => stop.abort(new Error("stopped")) };
    await expect(copyStore(from, `jsonl:${path}`, options)).rejects.toThrow("stopped");
    const runs = [{ space: "agentos" as const, run: "one" }];
    const partly = new AbortController();
    let steps = 0;
    const onProgress = () => void (++steps === 2 && partly.abort(new Error("stopped")));
    await expect(copyStore(from, `jsonl:${path}`, { runs, signal: partly.signal, onProgress })).rejects.toThrow(
      "stopped",
    );
    expect(JSON.parse(readFileSync(join(path, "export.json"), "utf8"))).toMatchObject({ complete: false });
    const error = await failure(copyStore(`jsonl:${path}`, place("sqlite")), "CORRUPT");
    expect(error.message).toContain("was interrupted and is not complete");
    await copyStore(from, `jsonl:${path}`);
    expect(await lineages(`jsonl:${path}`)).toBe(2);
  });

  test("with a damaged mark is refused", async () => {
    const path = await exported();
    for (const text of ["", "{}", "null", '{"forkpoint":"export","complete":1,"commit":2}']) {
      writeFileSync(join(path, "export.json"), text);
      await failure(copyStore(`jsonl:${path}`, place("sqlite")), "CORRUPT");
    }
  });

  test("a store in use needs no mark, and gets none from a copy of some runs", async () => {
    const path = join(folder(), "store");
    await filled(`jsonl:${path}`, "mine");
    await copyStore(await filled(place("sqlite"), "one"), `jsonl:${path}`, { space: "agentos" });
    expect(existsSync(join(path, "export.json"))).toBe(false);
    expect(await lineages(`jsonl:${path}`)).toBe(2);
  });
});

describe("a folder without order.jsonl", () => {
  const uses: Array<[string, (target: string) => Promise<unknown>]> = [
    ["a store", async (target) => (await openStore(target)).close()],
    ["a store that only reads", async (target) => (await openStore(target, { readOnly: true })).close()],
    ["CheckpointStore", (target) => open(target).latest("one")],
    ["the inspector", async (target) => (await openInspector(target)).runs()],
    ["copyStore", (target) => copyStore(target, place("sqlite"))],
  ];

  test.each(uses)("is CORRUPT for %s", async (_, use) => {
    const path = await exported();
    rmSync(join(path, "order.jsonl"));
    const files = { force: true };
    // With the lock, with the log before only, and with neither, as in git.
    for (const name of ["export.json", "forkpoint.lock", "order.jsonl.old"]) {
      rmSync(join(path, name), files);
      const error = await failure(use(`jsonl:${path}`), "CORRUPT");
      expect(error.message, name).toContain("order.jsonl is missing, so it is unknown which lines were committed");
    }
  });

  test("is left alone if it has files of another program", async () => {
    const path = folder();
    cpSync(import.meta.filename, join(path, "other.jsonl"));
    await failure(openStore(`jsonl:${path}`), "UNSUPPORTED");
    await failure(openStore(`jsonl:${path}`, { readOnly: true }), "NOT_FOUND");
  });
});
