// A folder of text files that somebody else made must not lead a store to other files of the machine.
import { appendFileSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, copyStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, rejection, windows } from "./helpers.js";

/** Makes a store, and moves a file or a folder of it out of the store's folder, with a link in its place. */
async function linked(name: string): Promise<{ target: string; outside: string }> {
  const inside = join(folder(), "runs");
  const target = `jsonl:${inside}`;
  await using store = new CheckpointStore(target);
  await store.save(checkpoint({ id: "c", runId: "run-1" }));
  await store.close();
  const outside = join(folder(), "outside");
  renameSync(join(inside, name), outside);
  symlinkSync(outside, join(inside, name));
  return { target, outside };
}

describe.skipIf(windows)("a link in a folder of text files", () => {
  test.each(["agentos/run-1.jsonl", "order.jsonl"])("at %s is refused, and its target stays as it is", async (name) => {
    const { target, outside } = await linked(name);
    appendFileSync(outside, "precious");
    const before = readFileSync(outside, "utf8");
    const wanted = { code: "UNSUPPORTED", message: expect.stringContaining("symbolic link") };
    const store = new CheckpointStore(target);
    expect(await rejection(store.list("run-1"))).toMatchObject(wanted);
    expect(await rejection(store.save(checkpoint({ id: "d", runId: "run-1" })))).toMatchObject(wanted);
    await store.close();
    expect(
      await rejection(
        openInspector(target).then((inspector) => inspector.checkpoint({ space: "agentos", run: "run-1" })),
      ),
    ).toMatchObject(wanted);
    expect(await rejection(copyStore(target, join(folder(), "copy.db")))).toMatchObject(wanted);
    expect(readFileSync(outside, "utf8")).toBe(before);
  });

  test("to another folder is refused, and no file is made there", async () => {
    const { target, outside } = await linked("agentos");
    mkdirSync(join(outside, "kept"));
    appendFileSync(join(outside, "run-1.jsonl"), "precious");
    const before = readFileSync(join(outside, "run-1.jsonl"), "utf8");
    const store = new CheckpointStore(target);
    const wanted = { code: "UNSUPPORTED", message: expect.stringContaining("symbolic link") };
    expect(await rejection(store.save(checkpoint({ id: "e", runId: "run-2" })))).toMatchObject(wanted);
    await store.close();
    expect(readFileSync(join(outside, "run-1.jsonl"), "utf8")).toBe(before);
  });
});
