import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CheckpointStore, type ErrorCode, ForkpointError, Store, type StoreOptions, openStore } from "forkpoint";
import { ForkpointStorage, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, failure, folder, open, rejection, thrown, wrongType } from "./helpers.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the error of wrong arguments. Both ways to open a store must give the same error. */
async function refusal(target: unknown, options?: unknown): Promise<Error & { code?: unknown }> {
  const fromConstructor = thrown(() => new CheckpointStore(target as string, options as StoreOptions));
  const fromOpenStore = await rejection(openStore(target as string, options as StoreOptions));
  expect(fromOpenStore.message).toBe(fromConstructor.message);
  expect(fromOpenStore.constructor).toBe(fromConstructor.constructor);
  for (const error of [fromConstructor, fromOpenStore]) expect(error.code).toBe("INVALID_ARGUMENT");
  return fromConstructor;
}

describe("options", () => {
  const known =
    "Known options: durability, serializer, busyTimeoutMs, secureDelete, readOnly, maxPayloadBytes, maxQueueBytes, cacheBytes, keepLastN, ttlMs, waitingTtlMs, maxBytes, pruneShare, labels, schema, prefix, migrate, password";

  test.each([
    ["durabilty", 'Unknown option "durabilty". Did you mean "durability"?'],
    ["Durability", 'Unknown option "Durability". Did you mean "durability"?'],
    ["serialiser", 'Unknown option "serialiser". Did you mean "serializer"?'],
    ["busytimeout", 'Unknown option "busytimeout". Did you mean "busyTimeoutMs"?'],
    ["busyTimeOuts", 'Unknown option "busyTimeOuts". Did you mean "busyTimeoutMs"?'],
    ["busyTimeout", 'Unknown option "busyTimeout". It is called "busyTimeoutMs" now.'],
    ["ttl", 'Unknown option "ttl". It is called "ttlMs" now.'],
    ["maxPayloadByte", 'Unknown option "maxPayloadByte". Did you mean "maxPayloadBytes"?'],
    ["timeout", 'Unknown option "timeout".'],
    ["__proto__", 'Unknown option "__proto__".'],
    ["constructor", 'Unknown option "constructor".'],
    ["", 'Unknown option "".'],
  ])("the unknown option %j", async (name, message) => {
    const options = Object.defineProperty({}, name, { value: "full", enumerable: true });
    const error = await refusal("memory:", options);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe(`${message} ${known}`);
  });

  test("secureDelete is for database files", async () => {
    await using store = await openStore(join(folder(), "agent.db"), { secureDelete: true });
    expect(await store.stats()).toMatchObject({ checkpoints: 0 });
    await failure(openStore(`jsonl:${join(folder(), "texts")}`, { secureDelete: true }), "UNSUPPORTED");
    expect(await rejection(openStore("memory:", { secureDelete: 1 } as object))).toBeInstanceOf(TypeError);
  });

  test("an unknown option is refused even if it is undefined, a long one is not repeated in full", async () => {
    expect((await refusal("memory:", { durable: undefined })).message).toContain('Unknown option "durable".');
    expect((await refusal("memory:", { ["x".repeat(5_000)]: 1 })).message.length).toBeLessThan(400);
  });

  test.each<[name: string, wanted: string, ...wrong: Array<[unknown, string]>]>([
    [
      "durability",
      '"full", "normal" or "off"',
      ...([
        ["fast", '"fast"'],
        ["FULL", '"FULL". Did you mean "full"?'],
        ["", '""'],
        [1, "1"],
      ] as Array<[unknown, string]>),
      ...([
        [null, "null"],
        [true, "true"],
        [["full"], "an array"],
        [Object("full"), "an object"],
      ] as Array<[unknown, string]>),
    ],
    ["serializer", '"v8", "json" or an object', ["xml", '"xml"'], [1, "1"], [null, "null"], [() => "v8", "a function"]],
    [
      "busyTimeoutMs",
      "a number of milliseconds",
      ["30", "a string"],
      [null, "null"],
      [5n, "a bigint"],
      [{}, "an object"],
    ],
    [
      "maxPayloadBytes",
      "a number of bytes",
      ["64", "a string"],
      [true, "true"],
      [[1], "an array"],
      [() => 1, "a function"],
    ],
    ["cacheBytes", "a number of bytes", ["0", "a string"]],
  ])("%s must be %s", async (name, wanted, ...wrong) => {
    for (const [value, shown] of wrong as Array<[unknown, string]>) {
      const error = await refusal("memory:", { [name]: value });
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toBe(`option "${name}" must be ${wanted}, but is ${shown}`);
    }
  });

  test.each([
    ["busyTimeoutMs", "milliseconds from 0 to 2147483647", [-1, 0.5, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY]],
    ["cacheBytes", "bytes from 0 to 1099511627776", [-1, 0.5, 2 ** 40 + 1, Number.NaN]],
    ["maxPayloadBytes", "bytes from 1 to 943718400", [0, -1, 1.5, 900 * 2 ** 20 + 1, Number.NaN]],
  ])("%s is a whole number of %s", async (name, range, wrong) => {
    for (const value of wrong) {
      const error = await refusal("memory:", { [name]: value });
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toBe(`option "${name}" must be a whole number of ${range}, but is ${value}`);
    }
  });

  test("a serializer of one's own has a name and two methods", async () => {
    const whole = { name: "own", serialize: () => new Uint8Array(), deserialize: () => ({}) };
    const message = async (overrides: Record<string, unknown>) => {
      const error = await refusal("memory:", { serializer: { ...whole, ...overrides } });
      expect(error).toBeInstanceOf(TypeError);
      return error.message;
    };
    for (const name of [undefined, null, 1, "", "x".repeat(65), "\ud800", Symbol("own")]) {
      expect(await message({ name })).toBe('option "serializer" must have a name of 1 to 64 characters');
    }
    for (const name of ["v8", "json"]) {
      const taken = `option "serializer" is named "${name}", which is taken: choose another name`;
      expect(await message({ name })).toBe(taken);
    }
    for (const method of ["serialize", "deserialize"]) {
      expect(await message({ [method]: "text" })).toBe(`option "serializer" must have a method ${method}()`);
    }
  });

  test("a serializer may be an instance of a class", async () => {
    class Own {
      readonly name = "own";
      readonly #prefix = "own:";
      serialize(value: unknown) {
        return Buffer.from(this.#prefix + JSON.stringify(value));
      }
      deserialize(bytes: Uint8Array) {
        return JSON.parse(Buffer.from(bytes).toString().slice(this.#prefix.length)) as unknown;
      }
    }
    const store = open("memory:", { serializer: new Own() });
    const saved = checkpoint();
    await store.save(saved);
    expect(await store.get(saved.id)).toStrictEqual(saved);
  });

  test.each([
    [null, "null"],
    [1, "1"],
    ["full", "a string"],
    [[], "an array"],
    [() => ({}), "a function"],
  ])("options may not be %j", async (options, shown) => {
    const error = await refusal("memory:", options);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe(`options must be an object, but is ${shown}`);
  });

  test("every accepted value opens a working store", async () => {
    const accepted: Array<StoreOptions | undefined> = [
      undefined,
      {},
      Object.freeze({}),
      { durability: "full" },
      { durability: "normal" },
      { durability: "off" },
      { serializer: "v8" },
      { serializer: "json" },
      { busyTimeoutMs: 0 },
      { busyTimeoutMs: 2 ** 31 - 1 },
      { maxPayloadBytes: 900 * 2 ** 20 },
      { cacheBytes: 0 },
      { durability: undefined, serializer: undefined, busyTimeoutMs: undefined } as unknown as StoreOptions,
    ];
    for (const [i, options] of accepted.entries()) {
      const store = open(join(folder(), "agent.db"), options);
      const saved = checkpoint({ number: i });
      await store.save(saved);
      expect(await store.get(saved.id)).toStrictEqual(saved);
    }
  });

  test("are read when the store is opened, and neither changed nor kept", async () => {
    const options: StoreOptions = { serializer: "json", maxPayloadBytes: 10_000 };
    const store = open("memory:", options);
    expect(options).toEqual({ serializer: "json", maxPayloadBytes: 10_000 });
    options.serializer = "v8";
    options.maxPayloadBytes = 1;
    const saved = checkpoint({ date: new Date(0) });
    await store.save(saved);
    expect(await store.get(saved.id)).toMatchObject({ date: "1970-01-01T00:00:00.000Z" });
  });

  test("an open store has its own", async () => {
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    for (const options of [{ keepLastN: 1 }, { durability: "full" }]) {
      const error = thrown(() => new CheckpointStore(store, options as StoreOptions));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toBe(
        "the target is an open store, which has its own options: pass the options to openStore()",
      );
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    await new CheckpointStore(store, undefined).save(checkpoint());
    expect((await new CheckpointStore(store).runs()).runs).toHaveLength(1);
  });

  test("Store has no public constructor", () => {
    const Constructor = Store as unknown as new (...args: unknown[]) => Store;
    for (const args of [[], ["memory:"], [Symbol("openStore"), "memory:"], [undefined, "memory:", {}]]) {
      const error = thrown(() => new Constructor(...args));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toBe("Store has no public constructor: use openStore()");
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
  });
});

describe("options of runs()", () => {
  const known = "Known options: graphIdPrefix, limit, cursor";

  test.each([
    [{ graphIdprefix: "g" }, `Unknown option "graphIdprefix". Did you mean "graphIdPrefix"? ${known}`],
    [{ limits: 1 }, `Unknown option "limits". Did you mean "limit"? ${known}`],
    [{ runId: "r" }, `Unknown option "runId". ${known}`],
    [{ graphIdPrefix: 1 }, 'option "graphIdPrefix" must be a string, but is 1'],
    [{ graphIdPrefix: null }, 'option "graphIdPrefix" must be a string, but is null'],
    [
      { graphIdPrefix: "\ud800" },
      'option "graphIdPrefix" contains an unpaired surrogate (invalid Unicode), which no stored graphId contains',
    ],
    [{ limit: "1" }, 'option "limit" must be a number of entries, but is a string'],
    [{ limit: null }, 'option "limit" must be a number of entries, but is null'],
    [{ cursor: 1 }, 'option "cursor" must be the cursor of an earlier page'],
    [{ cursor: "x" }, 'option "cursor" must be the cursor of an earlier page'],
    [null, "options must be an object, but is null"],
    ["graph-", "options must be an object, but is a string"],
    [[], "options must be an object, but is an array"],
  ])("%j is refused", async (options, message) => {
    const store = open("memory:");
    const error = await rejection(store.runs(options as {}));
    expect(error.message).toBe(message);
    await wrongType(store.runs(options as {}));
  });

  test.each([0, -1, 1.5, 100_001, Number.NaN, 1 / 0])("a limit of %d is out of range", async (limit) => {
    const error = await rejection(open("memory:").runs({ limit }));
    expect(error).toBeInstanceOf(RangeError);
    expect(error.message).toBe(`option "limit" must be a whole number of entries from 1 to 100000, but is ${limit}`);
    expect(error.code).toBe("INVALID_ARGUMENT");
  });

  test("everything may be left out", async () => {
    const store = open("memory:");
    await store.save(checkpoint());
    const none = { graphIdPrefix: undefined, limit: undefined, cursor: undefined } as unknown as {};
    for (const options of [undefined, {}, none, { cursor: null }, { limit: 100_000 }]) {
      expect((await store.runs(options)).runs).toHaveLength(1);
    }
  });
});

/** Saves to the target and expects the file to exist. */
async function stores(target: string | URL, file: string) {
  const store = new CheckpointStore(target);
  const saved = checkpoint();
  await store.save(saved);
  await store.close();
  expect(existsSync(file), file).toBe(true);
  const again = await openStore(target);
  expect(await new CheckpointStore(again).get(saved.id)).toStrictEqual(saved);
  await again.close();
}

describe("targets", () => {
  test("a path, absolute or relative to the working directory", async () => {
    const file = join(folder(), "agent.db");
    await stores(file, file);
    await stores(relative(process.cwd(), file), file);
    const other = join(folder(), "agent.db");
    await stores(`./${relative(process.cwd(), other)}`, other);
  });

  test("sqlite: and a path", async () => {
    const home = folder();
    await stores(`sqlite:${join(home, "a.db")}`, join(home, "a.db"));
    await stores(`sqlite://${join(home, "b.db")}`, join(home, "b.db"));
    await stores(`sqlite:${relative(process.cwd(), join(home, "c.db"))}`, join(home, "c.db"));
    // A `file:` URL may be a string. A path that begins with two slashes stays absolute.
    await stores(pathToFileURL(join(home, "d e.db")).href, join(home, "d e.db"));
    await stores(new URL(`file:///${join(home, "f.db")}`), join(home, "f.db"));
    expect(readdirSync(home).toSorted()).toEqual(["a.db", "b.db", "c.db", "d e.db", "f.db"]);
  });

  test("a path and a URL of a file with any name", async () => {
    const names = ["with space.db", "ünï\u{1f600}.db", "100%.db", "%20.db", "a#b.db", "a+b&c=d;e.db", "[x]{y}.db"];
    // Windows does not allow these.
    if (process.platform !== "win32") names.push("a?mode=memory.db", "a:b.db", "back\\slash.db", '"q".db', "a\nb.db");
    for (const name of names) {
      const [path, url] = [folder(), folder()];
      await stores(join(path, name), join(path, name));
      await stores(pathToFileURL(join(url, name)), join(url, name));
      expect([readdirSync(path), readdirSync(url)]).toEqual([[name], [name]]);
    }
  });

  test("a URL of memory:", async () => {
    const store = open(new URL("memory:"));
    const saved = checkpoint();
    await store.save(saved);
    expect(await store.get(saved.id)).toStrictEqual(saved);
  });

  test("a target that is kept may be changed afterwards", async () => {
    const home = folder();
    const url = pathToFileURL(join(home, "first.db"));
    const store = open(url);
    url.pathname = pathToFileURL(join(home, "second.db")).pathname;
    await store.save(checkpoint());
    expect(existsSync(join(home, "first.db"))).toBe(true);
    expect(existsSync(join(home, "second.db"))).toBe(false);
  });

  test.each([
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a number", 1, "1"],
    ["an object", { href: "memory:" }, "an object"],
    ["an array", ["memory:"], "an array"],
    ["a String object", Object("memory:"), "an object"],
    ["a Buffer", Buffer.from("memory:"), "an object"],
    ["a checkpoint store", new CheckpointStore("memory:"), "an object"],
  ])("%s is no target", async (_, target, shown) => {
    const error = await refusal(target);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe(`target must be a path, a URL or an open store, but is ${shown}`);
  });

  test.each([
    ["", /target is empty/],
    ["\ud800", /contains an unpaired surrogate/],
  ])("%j is no target", async (target, message) => {
    const error = await refusal(target);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
  });

  test.each([
    ["sqlite:", /target is empty/],
    ["sqlite://", /target is empty/],
    ["a\0b.db", /NUL/],
    ["\0", /NUL/],
    ["jsonl:", /target is empty/],
    ["memory:x", /nothing may follow the colon of "memory:"/],
    [":memory:", /for a store in memory, pass "memory:"/],
    ["sqlite::memory:", /for a store in memory, pass "memory:"/],
    [new URL("file:///a%00b.db"), /NUL/],
    [new URL("file:///a%2Fb.db"), /encoded/],
    [new URL("file://elsewhere/b.db"), /host/],
  ])("%s is refused", async (target, message) => {
    expect((await refusal(target)).message).toMatch(message);
  });

  test.each(["mysql://localhost/x", "redis://localhost", "https://example.org/a.db", "json:logs", "sqlite3:a.db"])(
    "the scheme of %s is not supported",
    async (target) => {
      for (const given of [target, new URL(target)]) {
        const scheme = target.slice(0, target.indexOf(":"));
        const error = thrown(() => new CheckpointStore(given));
        expect(error).toBeInstanceOf(ForkpointError);
        expect(error.code).toBe("UNSUPPORTED");
        expect(error.message).toContain(`no backend for "${scheme}:"`);
        await failure(openStore(given), "UNSUPPORTED");
      }
    },
  );

  test("a refused target or option makes no file", async () => {
    const home = folder();
    const file = join(home, "agent.db");
    expect(() => new CheckpointStore(file, { durability: "fast" as "full" })).toThrow(TypeError);
    await rejection(openStore(file, { busyTimeoutMs: -1 }));
    expect(readdirSync(home)).toEqual([]);
  });
});

describe("what is wrong with the place", () => {
  test("a directory that is missing is told by every constructor, with the error that opening has", async () => {
    const file = join(folder(), "missing", "agent.db");
    const { message } = await failure(openStore(file), "UNAVAILABLE");
    const contracts: Array<new (target: string) => { close(): Promise<void> }> = [
      CheckpointStore,
      WorkflowCheckpointStore,
      ForkpointStorage,
      SessionStore,
      Checkpointer,
    ];
    for (const Contract of contracts) {
      for (const target of [file, `sqlite:${file}`, `jsonl:${file}`, String(pathToFileURL(file))]) {
        const error = thrown(() => new Contract(target));
        expect(error).toBeInstanceOf(ForkpointError);
        expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, cause: { code: "ENOENT" }, message });
      }
    }
    expect(message).toContain("create the directory first");
    mkdirSync(join(file, ".."));
    for (const Contract of contracts) await new Contract(file).close();
  });

  test("a path that ends with a separator names a directory, and creates nothing", async () => {
    const cwd = folder();
    const file = join(cwd, "agent.db");
    const targets = [
      `${file}/`,
      `sqlite:${file}/`,
      `${file}/.`,
      String(pathToFileURL(`${file}/`)),
      pathToFileURL(`${file}/`),
    ];
    for (const target of targets) {
      const error = thrown(() => new CheckpointStore(target));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", retryable: false });
      expect(error.message).toContain("is the path of a directory");
    }
    expect(readdirSync(cwd)).toEqual([]);
    await open(file).save(checkpoint());
    expect(thrown(() => new CheckpointStore(`${file}/`)).code).toBe("INVALID_ARGUMENT");
    // A folder of text files may be written like this.
    await open(`jsonl:${join(cwd, "runs")}/`).save(checkpoint());
  });

  test("does not keep a store from being closed", async () => {
    const directory = folder();
    const store = new CheckpointStore(directory);
    await failure(store.save(checkpoint()), "INVALID_ARGUMENT");
    expect(await store.close()).toBeUndefined();
    await failure(store.get("a"), "CLOSED");
    const unused = new CheckpointStore(directory);
    expect(await unused.close()).toBeUndefined();
  });

  test("the cause is the error of the operating system or of SQLite", async () => {
    const home = folder();
    const missing = await failure(openStore(join(home, "missing", "agent.db")), "UNAVAILABLE");
    expect(missing.cause).toBeInstanceOf(Error);
    expect(missing.cause).toMatchObject({ code: "ENOENT", message: expect.stringContaining("(os error ") });
    if (process.platform !== "win32") expect(missing.cause).toMatchObject({ errno: constants.errno.ENOENT });

    const notes = join(home, "notes.txt");
    writeFileSync(notes, "These are my notes, and there are many of them.\n".repeat(100));
    const store = open(notes);
    for (const error of [await failure(openStore(notes), "CORRUPT"), await failure(store.get("a"), "CORRUPT")]) {
      expect(error.cause).toMatchObject({ code: "SQLITE_NOTADB", errno: 26, message: "file is not a database" });
      expect(error.message).toContain("SQLITE_NOTADB");
    }
  });
});

/** Returns the error codes that appear in quotation marks in a source text. */
const quoted = (text: string) => [...text.matchAll(/"([A-Z_]+)"/g)].map(([, code]) => code!);

describe("errors", () => {
  test("are ForkpointErrors with a code, and are nothing else", async () => {
    const error = await failure(open("memory:").fork("nobody"), "NOT_FOUND");
    expect(error).toBeInstanceOf(ForkpointError);
    expect(error).toBeInstanceOf(Error);
    expect(error.constructor).toBe(ForkpointError);
    expect(error.name).toBe("ForkpointError");
    expect(Object.prototype.toString.call(error)).toBe("[object Error]");
    expect(String(error)).toBe(`ForkpointError: ${error.message}`);
    expect(error.retryable).toBe(false);
    expect("outcome" in error).toBe(false);
    expect("cause" in error).toBe(false);
    expect(Object.keys(error).toSorted()).toEqual(["code", "retryable"]);
    // One from the engine is the same.
    const told = await failure(openStore(join(folder(), "missing", "agent.db")), "UNAVAILABLE");
    expect([told.constructor, told.name, "outcome" in told]).toEqual([ForkpointError, "ForkpointError", false]);
    expect(Object.keys(told).toSorted()).toEqual(["code", "retryable"]);
  });

  test("users can construct a ForkpointError", () => {
    const cause = new Error("why");
    const error = new ForkpointError("CONFLICT", "message", { retryable: true, outcome: "unknown", cause });
    expect(error).toMatchObject({ name: "ForkpointError", code: "CONFLICT", message: "message", retryable: true });
    expect([error.outcome, error.cause]).toEqual(["unknown", cause]);
    expect(new ForkpointError("BUSY", "m").retryable).toBe(true);
    expect(new ForkpointError("UNAVAILABLE", "m").retryable).toBe(true);
    expect(new ForkpointError("UNAVAILABLE", "m", { retryable: false }).retryable).toBe(false);
    const final = ["NOT_FOUND", "INVALID_ARGUMENT", "CLOSED", "CORRUPT", "CONFLICT", "FULL", "UNSUPPORTED"] as const;
    for (const code of final) {
      expect(new ForkpointError(code, "m").retryable).toBe(false);
    }
  });

  test("stacks lead to the caller", async () => {
    const here = basename(fileURLToPath(import.meta.url));
    const missing = join(folder(), "missing", "agent.db");
    const broken = open(folder());
    const closed = new CheckpointStore("memory:");
    await closed.close();
    const id = "nobody";
    // Await each call in place, as users do. V8 finds the callers of an async function through the code that awaits it.
    const calls: Record<string, () => Promise<unknown>> = {
      openStore: async () => await openStore(missing),
      "openStore, options": async () => await openStore(missing, { durability: "fast" as "full" }),
      save: async () => await broken.save(checkpoint()),
      get: async () => await broken.get(id),
      load: async () => await broken.load(id),
      latest: async () => await broken.latest(id),
      list: async () => await broken.list(id),
      listByRun: async () => await broken.listByRun(id),
      delete: async () => await broken.delete(id),
      fork: async () => await broken.fork(id),
      runs: async () => await broken.runs(),
      "save, refused": async () => await open("memory:").save(checkpoint({ bad: new WeakMap() })),
      "fork, not found": async () => await open("memory:").fork(id),
      "save, wrong type": async () => await open("memory:").save(checkpoint({ id: 1 as unknown as string })),
      closed: async () => await closed.get(id),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { stack, message } = await rejection(call());
      expect(stack, name).toContain(message);
      expect(stack, name).toContain(here);
    }
    expect(thrown(() => new CheckpointStore("ftp:agent.db")).stack).toContain(here);
    expect(thrown(() => new CheckpointStore("memory:", { durability: 1 as never })).stack).toContain(here);
  });

  test("the codes are those of the engine", () => {
    const engine = readFileSync(join(root, "engine/src/error.rs"), "utf8");
    const names = /fn name\(self\)[^{]*\{(.*?)\n    \}/s.exec(engine)![1]!;
    const codes: Record<ErrorCode, true> = {
      NOT_FOUND: true,
      INVALID_ARGUMENT: true,
      CLOSED: true,
      CORRUPT: true,
      CONFLICT: true,
      STOPPED: true,
      BUSY: true,
      FULL: true,
      UNAVAILABLE: true,
      UNSUPPORTED: true,
    };
    // The engine stops no run.
    expect(quoted(names)).toEqual(Object.keys(codes).filter((code) => code !== "STOPPED"));
  });
});
