// Calls to the engine have the same field names in TypeScript and in Rust.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { listen } from "./listening.js";

// The types come from the sources. The code comes from the build, because the sources are CommonJS.
const require = createRequire(import.meta.url);
const { agentium } =
  require("../dist/inner/contracts/agentium/wire.js") as typeof import("../ts/contracts/agentium/wire.js");
const { agentos } =
  require("../dist/inner/contracts/agentos/wire.js") as typeof import("../ts/contracts/agentos/wire.js");
const { open } = require("../dist/inner/bridge/native.js") as typeof import("../ts/bridge/native.js");
const { Contract, storeCalls } = require("../dist/inner/bridge/wire.js") as typeof import("../ts/bridge/wire.js");

const limits = { keepLastN: undefined, ttl: undefined, waitingTtl: undefined, maxBytes: undefined, prunePercent: 25 };
const sizes = { busyTimeout: 0, maxPayloadBytes: 2 ** 20, cacheBytes: 0 };
const store = open("memory:", { durability: "full", secureDelete: false, readOnly: false, ...sizes, ...limits });

test("a field or a call by another name does not compile, and is refused", async () => {
  const refused = { code: "INVALID_ARGUMENT", message: expect.stringMatching(/cannot be read: .*known|missing/) };
  // @ts-expect-error: the field is called checkpointId
  await expect(agentos.call(store, "delete", { checkpointID: "c" })).rejects.toMatchObject(refused);
  // @ts-expect-error: an unknown field
  await expect(agentos.call(store, "delete", { checkpointId: "c", force: true })).rejects.toMatchObject(refused);
  // @ts-expect-error: a missing field
  await expect(agentium.call(store, "runs", { before: 1 })).rejects.toMatchObject(refused);
  // @ts-expect-error: the call is called delete
  await expect(agentium.call(store, "remove", { checkpointId: "c" })).rejects.toMatchObject(refused);
  // @ts-expect-error: the id must be a string
  await expect(agentos.call(store, "delete", { checkpointId: 5 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("fields may be written down in any order, and those that are undefined be left out", async () => {
  const [limit, before] = [1, undefined];
  expect(await agentium.call(store, "runs", { limit, before })).toEqual([]);
  expect(await agentium.call(store, "runs", { before, limit })).toEqual([]);
});

test("an unpaired surrogate in a list is an error that says so", async () => {
  const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("an unpaired surrogate") };
  const rules = [{ "\ud800": 1 } as unknown as { savedBefore: number }];
  await expect(storeCalls.call(store, "prunable", { contract: undefined, rules })).rejects.toMatchObject(refused);
});

test("the subject of a call is made only if somebody watches", async () => {
  let looks = 0;
  const calls = new Contract<{ get(fields: { checkpointId: string }): null }>("agentos", {
    subject: ({ checkpointId }) => {
      looks += 1;
      return { id: checkpointId };
    },
  });
  await calls.call(store, "get", { checkpointId: "c" });
  expect(looks).toBe(0);
  const listening = listen();
  await calls.call(store, "get", { checkpointId: "c" });
  expect(looks).toBe(1);
  expect(listening.lines()).toEqual(["read get agentos ||c -> missing"]);
});
