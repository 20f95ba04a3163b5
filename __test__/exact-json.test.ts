// What the default serializer stores as JSON in a runtime without V8's serializer.
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { lostInJson } from "../ts/bridge/exact-json.js";

const shared = { n: 1 };
const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;
const named = Object.assign([1], { name: "x" });

test.each<[string, unknown, string]>([
  ["undefined", { a: { b: undefined } }, "state.a.b is undefined"],
  ["undefined in an array", [1, undefined], "state[1] is undefined"],
  ["NaN", { n: NaN }, "state.n is NaN"],
  ["Infinity", { n: -Infinity }, "state.n is -Infinity"],
  ["minus zero", { n: -0 }, "state.n is -0"],
  ["a BigInt", { n: 1n }, "state.n is a value of the type bigint"],
  ["a Date", { at: new Date(0) }, "state.at has the type Date"],
  ["a Map", { map: new Map() }, "state.map has the type Map"],
  ["a Set", [new Set()], "state[0] has the type Set"],
  ["bytes", { bytes: new Uint8Array(1) }, "state.bytes has the type Uint8Array"],
  ["a Buffer", { bytes: Buffer.from("x") }, "state.bytes has the type Uint8Array"],
  ["an Error", { error: new Error("x") }, "state.error has the type Error"],
  ["a hole", { list: [1, , 3] }, "state.list is an array with holes or named properties"], // oxlint-disable-line no-sparse-arrays
  ["a named property of an array", { list: named }, "state.list is an array with holes or named properties"],
  [
    "as many names as holes",
    { list: Object.assign([1, , 3], { name: 1 }) }, // oxlint-disable-line no-sparse-arrays
    "state.list is an array with holes or named properties",
  ],
  ["an object twice", { a: shared, b: [shared] }, "state.b[0] is an object that appears twice in the value"],
  ["a cycle", cycle, "state.self is an object that appears twice in the value"],
])("refuses %s", (_, value, why) => {
  expect(lostInJson(value, "state")).toBe(why);
});

test.each<[string, unknown]>([
  ["null", null],
  ["an empty object", {}],
  ["nested data", { text: "x\u0000\ud800", list: [[], [{ n: -1.5e300 }]], yes: true, none: null }],
  ["a key __proto__", JSON.parse('{"__proto__":{"a":1}}')],
  ["equal objects", [{ n: 1 }, { n: 1 }]],
])("keeps %s", (_, value) => {
  expect(lostInJson(value, "state")).toBe(undefined);
  expect(isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)).toBe(true);
});
