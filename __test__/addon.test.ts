// The addon checks numbers again that the package has checked. A number that does not fit is refused: it neither becomes another
// limit, nor makes room for more than there is.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const { here } = (await import(new URL("../scripts/platforms.mjs", import.meta.url).href)) as { here(): string };
const addon = createRequire(import.meta.url)(fileURLToPath(new URL(`../forkpoint.${here()}.node`, import.meta.url)));
const completions = new addon.Completions(() => {});

const options = {
  durability: "full",
  busyTimeout: 100,
  maxPayloadBytes: 2 ** 20,
  secureDelete: false,
  prunePercent: 25,
  cacheBytes: 0,
  readOnly: false,
};
const open = (given: object) => new addon.NativeStore(completions, "memory:", { ...options, ...given }, undefined);

const wrong = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 0.5, 2 ** 53, 1e300];

describe.each([
  ["busyTimeout", "busyTimeoutMs", [2 ** 31]],
  ["maxPayloadBytes", "maxPayloadBytes", [0, 900 * 2 ** 20 + 1]],
  ["cacheBytes", "cacheBytes", []],
  ["keepLastN", "keepLastN", [0]],
  ["ttl", "ttlMs", [0]],
  ["maxBytes", "maxBytes", [0]],
  ["prunePercent", "prunePercent", [0, 101]],
])("%s", (key, name, others) => {
  test.each([...wrong, ...others])("%d is refused", (value) => {
    expect(() => open({ [key]: value })).toThrow(new RegExp(`^${name} must be a whole number`));
  });

  test("a number in range is accepted", () => {
    expect(open({ [key]: 1 }).databasePath).toBeNull();
  });
});

describe("the buffers of a call", () => {
  const names = ["id", "runId", "graphId", "nodeId", "timestamp", "hasMemorySnapshot", "status", "savedAt", "stateTag"];
  const shape = completions.shape("agentos", "save", [...names, "restTag"]);
  const values = ["id", "run", "graph", "node", 1, false, "unknown", 1, "json", "json"];
  const rest = Buffer.from("{}");
  const call = open({}).calls();

  test.each([3, 2 ** 31, 2 ** 32 - 1, -1])("a call that says that it has %d", (count) => {
    expect(() => call(1, true, shape, count, rest, rest)).toThrow("fewer buffers");
  });

  test.each([
    [0, 0, 3],
    [0, 3, 0],
    [0, 2 ** 32 - 1, 1],
    [0, 2, 2 ** 32 - 1],
    [7, 0, 1],
    [0, 0],
  ])("a piece that is not in its chunk: %d %d %d", (...piece) => {
    expect(() => call(1, true, shape, 2, [rest, Uint32Array.of(...piece)], rest, ...values)).toThrow("no chunk");
  });

  test("pieces that overlap and would fill the memory", () => {
    const count = 2 ** 20;
    const pieces = new Uint32Array(3 * count);
    for (let at = 0; at < count; at += 1) pieces[3 * at + 2] = 2 ** 20;
    const failure = call(1, true, shape, 2, [Buffer.alloc(2 ** 20), pieces], rest, ...values);
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("maxPayloadBytes") });
  });

  test("buffers and pieces that are there", () => {
    expect(call(1, true, shape, 2, [rest, Uint32Array.of(0, 0, 1, 0, 1, 1)], rest, ...values)).toBeNull();
  });
});
