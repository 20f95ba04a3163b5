// What people are shown of values that would take minutes or gigabytes.
import { join } from "node:path";
import { CheckpointStore, copyStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { expect, onTestFinished, test } from "vitest";
import { readForm } from "../../ts/bridge/json-form/from-json-form.js";
import { shownForm, toJsonForm } from "../../ts/bridge/json-form/to-json-form.js";
import { checkpoint, folder } from "../helpers.js";

const bigInt = (bytes: number): bigint => 1n << BigInt(8 * bytes - 1);
const opaque = (tag: string, bytes: number) => ({ $type: "Opaque", tag, bytes, base64: "" });

/** The form of `levels` lists, one within the other. */
function nested(levels: number, inner: unknown): unknown {
  let value = inner;
  for (let n = 0; n < levels; n++) value = [value];
  return value;
}

test("a BigInt of up to 64 KiB is shown, and a larger one is opaque", () => {
  const shown = bigInt(65_536);
  // A failing comparison would print all digits.
  expect(JSON.stringify(shownForm([shown, -shown])) === JSON.stringify(toJsonForm([shown, -shown]))).toBe(true);
  expect(shownForm([bigInt(65_537), -bigInt(65_537)])).toEqual([opaque("BigInt", 65_537), opaque("BigInt", 65_537)]);
  expect(shownForm([bigInt(2 ** 24), Object(bigInt(2 ** 24)), new Map([["n", bigInt(2 ** 24)]])])).toEqual([
    opaque("BigInt", 2 ** 24),
    { $type: "Boxed", value: opaque("BigInt", 2 ** 24) },
    { $type: "Map", value: [["n", opaque("BigInt", 2 ** 24)]] },
  ]);
});

test("of many large BigInts, the first megabyte is shown", () => {
  const form = shownForm(Array.from({ length: 40 }, () => bigInt(65_536))) as Array<{ $type: string }>;
  expect(form.map(({ $type }) => $type)).toEqual([...Array(16).fill("BigInt"), ...Array(24).fill("Opaque")]);
  const small = Array.from({ length: 3_000 }, () => 2n ** 8_000n);
  expect(JSON.stringify(shownForm(small)) === JSON.stringify(toJsonForm(small))).toBe(true);
});

test("a BigInt in JSON text is not parsed if it would not be shown", () => {
  const form = { $type: "BigInt", value: "7".repeat(20_000_000) };
  expect(shownForm(readForm({ form }, true))).toEqual({ form: opaque("BigInt", expect.closeTo(8_304_820, -1)) });
  const shown = { $type: "BigInt", value: "7".repeat(150_000) };
  expect(JSON.stringify(shownForm(readForm([shown], true))) === JSON.stringify([shown])).toBe(true);
});

test("1,500 levels are shown", () => {
  for (const inner of ["text", [], { a: 1 }, new Map()]) {
    const value = nested(1_499, inner);
    expect(JSON.stringify(shownForm(value)) === JSON.stringify(toJsonForm(value))).toBe(true);
  }
  const more = opaque("more than 1500 levels", 0);
  for (const levels of [1_501, 1_000_000]) {
    expect(JSON.stringify(shownForm(nested(levels, "text")))).toBe(JSON.stringify(nested(1_500, more)));
  }
});

test("what is too large to be shown is forked and copied whole, and edits refuse it", async () => {
  const path = join(folder(), "agent.db");
  const big = bigInt(2 ** 20);
  const store = new CheckpointStore(path);
  const scratch = { big, city: "Lisbon" };
  await store.save(checkpoint({ id: "c", runId: "run", state: { ...checkpoint().state, scratch } }));
  await store.close();

  const inspector = await openInspector(path, { write: true });
  onTestFinished(() => inspector.close());
  const ref = { space: "agentos", run: "run", ns: null, id: "c" } as const;
  const detail = await inspector.checkpoint(ref);
  expect(detail!.state).toMatchObject({ scratch: { big: opaque("BigInt", 2 ** 20), city: "Lisbon" } });
  const fork = await inspector.fork(ref, {});
  await expect(inspector.fork(ref, { set: [["scratch.city", "Rome"]] })).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringMatching(/scratch\.big.*too large to be shown/),
  });
  await inspector.close();

  const text = `jsonl:${join(folder(), "text")}`;
  await copyStore(path, text);
  for (const target of [path, text]) {
    const again = new CheckpointStore(target);
    expect((await again.latest(fork.run))!.state.scratch).toEqual(scratch);
    await again.close();
  }
  const texts = await openInspector(text);
  expect((await texts.checkpoint(ref))!.state).toEqual(detail!.state);
  await texts.close();
});
