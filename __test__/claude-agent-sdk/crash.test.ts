// Kills processes that append, and stores large sessions. An acknowledged append is there, none is there in part, and the summary is
// that of the entries.
// @module-tag slow
import type { SessionStoreEntry } from "forkpoint/claude-agent-sdk";
import { describe, expect, it } from "vitest";
import { durable, kinds, place, run, sharedKinds } from "../helpers.js";
import { at, fold, key, make, summaryOf } from "./helpers.js";

describe.each(sharedKinds)("killed processes over %s", (kind) => {
  // Two processes can't write to one folder of text files.
  const writers = kind === "jsonl" ? ["a"] : ["a", "b"];

  it.each([1, 2, 3])("leave whole turns and the summary of them (%i)", { timeout: 120_000 }, async (n) => {
    const target = place(kind);
    const until = 10 * n;
    const ended = await Promise.all(
      writers.map((writer) =>
        run("transcript.mjs", [target, writer], (line, child) => {
          if (Number(line) >= until) child.kill("SIGKILL");
        }),
      ),
    );
    const store = at(target);
    const found = (await store.load(key))!;
    for (const [of, writer] of writers.entries()) {
      expect(ended[of]!.errors).toBe("");
      const mine = found.map(({ type }) => type).filter((type) => type.startsWith(`${writer}-`));
      const turns = mine.length / 2;
      // The last turn may be stored although its process was killed before it was told.
      expect(turns).toBeGreaterThanOrEqual(ended[of]!.lines.length);
      const wanted = Array.from({ length: turns }, (_, turn) => [
        `${writer}-${turn}-user`,
        `${writer}-${turn}-assistant`,
      ]);
      expect(mine).toEqual(wanted.flat());
    }
    expect(await summaryOf(store)).toMatchObject({ types: found.map(({ type }) => type) });
    await store.append(key, found);
    expect(await store.load(key)).toEqual(found);
  });
});

describe.each(kinds)("large sessions over %s", (kind) => {
  it("of 50 MB are stored and loaded", { timeout: 300_000 }, async () => {
    const store = make(kind);
    const all: SessionStoreEntry[] = Array.from({ length: 5_000 }, (_, n) => {
      return { type: `t${n}`, uuid: `u${n}`, text: `${n} é `.repeat(1_000).slice(0, 10_000) };
    });
    for (let from = 0; from < all.length; from += 500) await store.append(key, all.slice(from, from + 500));
    await store.append(key, all.slice(0, 500));
    expect(await store.load(key)).toEqual(all);
    expect(await summaryOf(store)).toEqual(fold(undefined, key, all).data);
    await store.truncate(key, "u9");
    expect(await store.load(key)).toEqual(all.slice(0, 10));
  });
});

it(`the bytes grow with the entries over ${durable}`, { timeout: 300_000 }, async () => {
  const store = at(place(durable), {});
  const sizes: number[] = [];
  for (let n = 0; n < 3_000; n++) {
    await store.append(
      key,
      [0, 1].map((at) => ({ type: "t", uuid: `${n}-${at}`, text: "x".repeat(500) })),
    );
    if ((n + 1) % 1_000 === 0) sizes.push((await store.stats()).fileBytes!);
  }
  const [one, two, three] = sizes as [number, number, number];
  expect(three - two).toBeLessThan(1.5 * (two - one));
  expect((await store.stats()).recordBytes).toBeLessThan(6_000 * 700);
});
