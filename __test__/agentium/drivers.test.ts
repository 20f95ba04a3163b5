// Agentium's storage interface, tested on the drivers of this package.
import { join } from "node:path";
import { ForkpointStorage, InMemoryStorage, type StorageDriver } from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { closing, durable, failure, folder, place, wrongType } from "../helpers.js";

function opened(target: string, options?: ConstructorParameters<typeof ForkpointStorage>[1]): ForkpointStorage {
  return closing(new ForkpointStorage(target, options));
}

const kinds: Record<string, () => StorageDriver> = {
  InMemoryStorage: () => new InMemoryStorage(),
  "ForkpointStorage in memory": () => opened("memory:"),
  [`ForkpointStorage in ${durable}`]: () => opened(place(durable)),
};

const hostile = [
  ["", "a", "a:b", "%", "_", "a%", "*", "'; DROP"],
  ["🜁 née", "a\nb", "__proto__", "A", "1:", "\u0000", "a\u0000"],
].flat();

describe.each(Object.entries(kinds))("%s", (_, make) => {
  it("keeps any value, and hands out copies", async () => {
    const storage = make();
    const values = [
      null,
      0,
      -1.5,
      "",
      "text",
      true,
      [],
      [1, [2]],
      {},
      { deep: { at: new Date(7) } },
      7n,
      new Map([[1, 2]]),
    ];
    for (const [at, value] of values.entries()) await storage.set("ns", `key ${at}`, value);
    for (const [at, value] of values.entries()) expect(await storage.get("ns", `key ${at}`)).toStrictEqual(value);
    const mine = { list: [1] };
    await storage.set("ns", "mine", mine);
    mine.list.push(2);
    (await storage.get<typeof mine>("ns", "mine"))!.list.push(3);
    expect(await storage.get("ns", "mine")).toEqual({ list: [1] });
    await storage.set("ns", "mine", "other");
    expect(await storage.get("ns", "mine")).toBe("other");
  });

  it("of what is not there there is nothing", async () => {
    const storage = make();
    expect([await storage.get("ns", "x"), await storage.list("ns"), await storage.list("ns", "x")]).toEqual([
      null,
      [],
      [],
    ]);
    expect(await storage.delete("ns", "x")).toBeUndefined();
    expect(await storage.set("ns", "x", 1)).toBeUndefined();
    await storage.delete("ns", "x");
    expect(await storage.get("ns", "x")).toBeNull();
    expect(await storage.list("ns")).toEqual([]);
  });

  it("treats every character of a namespace, key or prefix literally", async () => {
    const storage = make();
    for (const namespace of hostile) for (const key of hostile) await storage.set(namespace, key, [namespace, key]);
    for (const namespace of hostile) {
      for (const key of hostile) expect(await storage.get(namespace, key)).toEqual([namespace, key]);
      expect(await storage.list(namespace)).toHaveLength(hostile.length);
      for (const prefix of hostile) {
        const expected = hostile.filter((key) => key.startsWith(prefix)).toSorted();
        const found = await storage.list<[string, string]>(namespace, prefix);
        expect(found.map(({ key }) => key).toSorted(), JSON.stringify(prefix)).toEqual(expected);
        for (const { key, value } of found) expect(value).toEqual([namespace, key]);
      }
    }
    await storage.delete("a", "a");
    expect(await storage.list("a")).toHaveLength(hostile.length - 1);
    expect(await storage.list("A")).toHaveLength(hostile.length);
  });

  it("rejects namespaces and keys that are not strings, and values that cannot be stored", async () => {
    const storage = make();
    for (const wrong of [undefined, null, 7, {}]) {
      await wrongType(storage.get(wrong as never, "key"));
      await wrongType(storage.get("ns", wrong as never));
      await wrongType(storage.set(wrong as never, "key", 1));
      await wrongType(storage.set("ns", wrong as never, 1));
      await wrongType(storage.delete("ns", wrong as never));
      await wrongType(storage.list(wrong as never));
    }
    await failure(storage.set("ns", "key", { x: Promise.resolve() }), "INVALID_ARGUMENT");
    expect(await storage.list("ns")).toEqual([]);
  });
});

describe("ForkpointStorage", () => {
  it("lists in the order of the keys, and is there after a restart", async () => {
    const path = join(folder(), "storage.db");
    const first = new ForkpointStorage(path);
    for (const key of ["b", "a", "c", "a:2", "a:1", "é"]) await first.set("ns", key, key);
    await first.close();
    await failure(first.get("ns", "a"), "CLOSED");
    const again = opened(path);
    expect((await again.list("ns")).map(({ key }) => key)).toEqual(["a", "a:1", "a:2", "b", "c", "é"]);
    expect((await again.list("ns", "a:")).map(({ value }) => value)).toEqual(["a:1", "a:2"]);
  });

  it("never loses a value to keepLastN", async () => {
    const storage = opened("memory:", { keepLastN: 1 });
    for (const key of ["a", "b", "c"]) await storage.set("ns", key, key);
    await storage.set("ns", "a", "anew");
    expect((await storage.list("ns")).map(({ value }) => value)).toEqual(["anew", "b", "c"]);
  });

  it("refuses keys that are too long", async () => {
    const storage = opened("memory:");
    await failure(storage.set("ns", "x".repeat(5000), 1), "INVALID_ARGUMENT");
    expect(await storage.get("ns", "x".repeat(5000))).toBeNull();
  });
});

it("InMemoryStorage is empty when it is closed", async () => {
  const storage = new InMemoryStorage();
  await storage.set("ns", "a", 1);
  await storage.close();
  expect(await storage.list("ns")).toEqual([]);
});
