// A save serialises only what is new. Whatever was changed must be noticed.
import { deserialize, serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { type Bytes, Pieces, whole } from "../../ts/bytes.js";
import { CloneWriter } from "../../ts/incremental/clone.js";
import { JsonWriter } from "../../ts/incremental/json.js";
import { keptBytes } from "../../ts/incremental/memory.js";
import { Mutations } from "./mutations.js";

const cloneWriter = () => new CloneWriter((value) => serialize(value));
const jsonWriter = () => new JsonWriter((item) => Buffer.from(JSON.stringify(item)));

/** What V8 reads back, serialised again. So it shows the values, the order of keys, and what is shared. */
const read = (bytes: Bytes) => serialize(deserialize(whole(bytes)));

const message = (n: number) => ({ role: "user", content: `message ${n} `.repeat(50), at: n });
const messages = (length: number) => Array.from({ length }, (_, n) => message(n));

/** Saves a state until its lists are kept. */
function warm(writer: { serialize(state: unknown): Bytes | undefined }, state: unknown): void {
  expect(writer.serialize(state)).toBe(undefined);
  expect(writer.serialize(state)).not.toBe(undefined);
}

describe("no mutation is missed", () => {
  // 100,000 mutations of each format, with a save after each.
  it.each([1, 2, 3, 4])("in V8's format (seed %i)", { timeout: 300_000 }, (seed) => {
    const mutations = new Mutations(seed, [1n, undefined]);
    let put = 0;
    for (let round = 0; round < 1_000; round++) {
      const writer = cloneWriter();
      let state = mutations.state();
      for (let step = 0; step < 25; step++) {
        state = mutations.mutate(state);
        const bytes = writer.serialize(state);
        if (bytes === undefined) continue;
        put += 1;
        if (!read(bytes).equals(read(serialize(state)))) expect(deserialize(whole(bytes))).toEqual(state);
      }
    }
    expect(put).toBeGreaterThan(10_000);
  });

  it.each([5, 6, 7, 8])("in JSON (seed %i)", { timeout: 300_000 }, (seed) => {
    const mutations = new Mutations(seed, [undefined]);
    let put = 0;
    for (let round = 0; round < 500; round++) {
      const writer = jsonWriter();
      let state = mutations.state();
      for (let step = 0; step < 50; step++) {
        state = mutations.mutate(state);
        const bytes = writer.serialize(state);
        if (bytes === undefined) continue;
        put += 1;
        const text = JSON.stringify(state);
        if (!Buffer.from(text).equals(whole(bytes))) expect(Buffer.from(whole(bytes)).toString()).toBe(text);
      }
    }
    expect(put).toBeGreaterThan(10_000);
  });
});
