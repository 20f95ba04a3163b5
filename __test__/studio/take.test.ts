// Takes runs away as files, and imports files, through the studio's HTTP API.
import { readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHash } from "node:crypto";
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import { describe, expect, test } from "vitest";
import { type Taken, Packer, unpack } from "../../tools/studio/taken.js";
import { makeSource } from "../../tools/studio/embedded/source.js";
import { checkpoint, folder } from "../helpers.js";
import { opened } from "../contents.js";
import { errorOf, saveRun, start } from "./helpers.js";

const space = "agentos";

describe("packing", () => {
  test("gives back exactly what was packed, and writes equal parts once", () => {
    const packer = new Packer();
    const long = "a long text that is in every state";
    const value = {
      list: [[], {}, [1], "short", long, long, null, true, -0.5],
      same: { deep: [{ long }, { long }] },
      odd: { "": 1, "[0]": ["x"], pool: [[0]], $type: "Map" },
      text: "\u2028</script>\ud83d\ude00\u0000",
    };
    Object.defineProperty(value, "__proto__", { value: { own: 1 }, enumerable: true });
    const text = [...packer.pieces(packer.add(value))].join("");
    expect(text.match(new RegExp(long, "g"))).toHaveLength(1);
    const back = unpack(JSON.parse(text)) as typeof value;
    expect(JSON.stringify(back)).toBe(JSON.stringify(value));
    expect(Object.hasOwn(back, "__proto__")).toBe(true);
    expect(back.same.deep[0]).toBe(back.same.deep[1]);
    for (const each of ["text", 5, null, false, [], {}]) {
      const one = new Packer();
      expect(unpack(JSON.parse([...one.pieces(one.add(each))].join("")))).toEqual(each);
    }
  });

  test("a conversation that grows takes little", () => {
    const packer = new Packer();
    const messages: object[] = [];
    for (let step = 0; step < 300; step++) {
      messages.push({ role: "user", content: `message ${step} `.repeat(50) });
      packer.add({ state: { messages: [...messages] } });
    }
    console.log(`300 states of a conversation: ${packer.size} characters, of ${(300 * 300 * 600) / 2}`);
    expect(packer.size).toBeLessThan(600_000);
  });
});

describe("take", () => {
  test("answers the run as JSON, with states, writes and effects", async () => {
    const own = await start();
    await saveRun(own.store, "r", [{ n: 1 }, { n: 2, apiKey: "secret" }, { n: 3, apiKey: "secret" }]);
    await effects(own.store)({ space, run: "r" }, "pay", () => ({ apiKey: "secret", id: 7 }));
    const answer = await own.ask("take?space=agentos&run=r&format=json&leaveOut=.apiKey&leaveOut=.none&last=2");
    expect(answer.status).toBe(200);
    expect(answer.headers["content-disposition"]).toBe('attachment; filename="run.json"');
    expect(answer.headers["content-type"]).toBe("application/octet-stream");
    expect(JSON.parse(decodeURIComponent(String(answer.headers["forkpoint-left-out"])))).toEqual({
      ".apiKey": 3,
      ".none": 0,
    });
    expect(answer.text).not.toContain("secret");
    const taken = JSON.parse(answer.text) as Taken;
    const [run] = taken.runs;
    expect(taken.forkpoint).toBe("run/1");
    expect(
      run!.checkpoints.map((each) => ("state" in each ? (each.state as { scratch: unknown }).scratch : null)),
    ).toEqual([
      { n: 3, apiKey: { $type: "LeftOut", value: ".apiKey" } },
      { n: 2, apiKey: { $type: "LeftOut", value: ".apiKey" } },
    ]);
    expect(run!.earlier).toBe(1);
    expect(run!.effects).toMatchObject([{ effect: { key: "pay", holder: "" }, result: { id: 7 } }]);
    expect(run!.run).toMatchObject({ run: "r", lease: null });
  });

  test("the HTML file says what may run in it, and has the data as text only", async () => {
    const own = await start();
    await saveRun(own.store, "</title><script>", [{ text: "</script><script>alert(1)</script><!--\u2028" }]);
    const { status, text } = await own.ask(
      `take?space=agentos&run=${encodeURIComponent("</title><script>")}&format=html`,
    );
    expect(status).toBe(200);
    expect(text).toContain("<title>&#60;/title&#62;&#60;script&#62; · Forkpoint Studio</title>");
    const scripts = [...text.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)].map(([, kind, body]) => [
      kind!.trim(),
      body!,
    ]);
    expect(scripts.map(([kind]) => kind)).toEqual(['type="application/json" id="taken"', "", 'type="module"']);
    const hashes = scripts.slice(1).map(([, body]) => createHash("sha256").update(body!).digest("base64"));
    const [, style] = /<style>(.*?)<\/style>/s.exec(text)!;
    expect(text).toContain(`script-src ${hashes.map((hash) => `'sha256-${hash}'`).join(" ")};`);
    expect(text).toContain(`style-src 'sha256-${createHash("sha256").update(style!).digest("base64")}';`);
    const data = scripts[0]![1]!;
    expect(data).not.toMatch(/[<\u2028\u2029]/);
    const taken = unpack(JSON.parse(data)) as Taken;
    expect(JSON.stringify(taken.runs[0]!.checkpoints)).toContain("<script>alert(1)</script><!--");
  });

  test("refuses a wrong path, a wrong format and an unknown run", async () => {
    const own = await start();
    await saveRun(own.store, "r", [{ n: 1 }]);
    expect(errorOf(await own.ask("take?space=agentos&run=r&leaveOut=a["))).toMatchObject({
      status: 400,
      code: "INVALID_ARGUMENT",
    });
    expect(errorOf(await own.ask("take?space=agentos&run=r&format=pdf"))).toMatchObject({ status: 400 });
    expect(errorOf(await own.ask("take?space=agentos&run=r&last=0"))).toMatchObject({ status: 400 });
    expect(errorOf(await own.ask("take?space=agentos&run=none"))).toMatchObject({ status: 404, code: "NOT_FOUND" });
  });

  test("says that the file would be too large, and what to do", async () => {
    const own = await start();
    await saveRun(
      own.store,
      "large",
      Array.from({ length: 18 }, (_, step) => ({ text: String(step).padEnd(10, "-").repeat(500_000) })),
    );
    const error = errorOf(await own.ask("take?space=agentos&run=large&format=json"));
    expect(error).toMatchObject({ status: 400, code: "UNSUPPORTED" });
    expect(error.message).toMatch(
      /larger than 64 MiB after \d+ of 18 checkpoints: take only the last steps \(--last \d+\)/,
    );
    expect((await own.ask("take?space=agentos&run=large&format=json&last=2")).status).toBe(200);
  });
});

describe("the page's source in a file", () => {
  test("answers as the server does", async () => {
    const own = await start();
    await saveRun(own.store, "r", [
      { n: 1, list: Array.from({ length: 300 }, (_, n) => n) },
      { n: 2, deep: { a: { b: { c: { d: 1 } } } } },
    ]);
    const taken = JSON.parse((await own.ask("take?space=agentos&run=r&format=json")).text) as Taken;
    const source = makeSource(taken);
    const of = { space, run: "r" };
    for (const [route, parameters] of [
      ["checkpoint", of],
      ["checkpoint", { ...of, id: "r-0" }],
      ["checkpoint", { ...of, id: "r-0", part: "state", path: "scratch.list[200:]", depth: 2 }],
      ["checkpoint", { ...of, id: "r-1", part: "rest" }],
      ["diff", { ...of, to: "r-1" }],
      ["diff", { ...of, from: "r-1", to: "r-0" }],
      ["diff", { ...of, to: "r-0" }],
      ["search", { ...of, id: "r-1", part: "state", text: "b" }],
      ["course", of],
    ] as Array<[string, Record<string, string | number>]>) {
      const response = await source(route, parameters);
      expect(await response.json(), `${route} ${JSON.stringify(parameters)}`).toEqual(await own.get(route, parameters));
    }
    const page = (await (await source("run", { ...of, limit: 1 })).json()) as {
      checkpoints: unknown[];
      cursor: string;
    };
    const { forks: _, lease: __, ...server } = await own.get("run", { ...of, limit: 1 });
    expect(page.checkpoints).toEqual(server.checkpoints);
    const next = (await (await source("run", { ...of, limit: 1, cursor: page.cursor })).json()) as {
      checkpoints: Array<{ id: string }>;
      cursor: null;
    };
    expect(next.checkpoints.map(({ id }) => id)).toEqual(["r-0"]);
    expect(next.cursor).toBeNull();
    expect(await (await source("raw", { ...of, id: "r-1", part: "state", path: "scratch.deep" })).json()).toEqual({
      a: { b: { c: { d: 1 } } },
    });
    for (const [route, parameters, status] of [
      ["run", { space, run: "none" }, 404],
      ["checkpoint", { ...of, id: "none" }, 404],
      ["checkpoint", { ...of, path: "none" }, 404],
      ["checkpoint", { ...of, path: "a[" }, 400],
      ["stats", {}, 404],
      ["constructor", {}, 404],
      ["effect", { ...of, key: "none" }, 404],
    ] as Array<[string, Record<string, string>, number]>) {
      const response = await source(route, parameters);
      expect(response.status, route).toBe(status);
      expect(((await response.json()) as { error: { message: string } }).error.message).not.toBe("");
    }
  });
});

describe("import", () => {
  type File = [name: string, bytes: Buffer];

  const bodyOf = (files: File[], head: unknown = files.map(([name, bytes]) => ({ name, size: bytes.length }))) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...files.map(([, bytes]) => bytes)]) as unknown as string;

  const headers = { "content-type": "application/octet-stream" };

  async function database(run: string): Promise<string> {
    const path = join(folder(), "other.db");
    const store = new CheckpointStore(path);
    await store.save(checkpoint({ id: `${run}-0`, runId: run }));
    await store.close();
    return path;
  }

  const filesIn = (path: string): File[] =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each): File => {
        const full = join(each.parentPath, each.name);
        return [`runs/${full.slice(path.length + 1).replaceAll("\\", "/")}`, readFileSync(full)];
      });

  const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith("forkpoint-import-"));

  test("adds the runs of a database and of a folder, and leaves no file behind", async () => {
    const before = left();
    const own = await start();
    const post = (body: string, query = "") => own.ask(`import${query}`, { method: "POST", headers, body });
    const path = await database("from-file");
    const answer = await post(bodyOf([["other.db", readFileSync(path)]]));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({
      runs: 1,
      checkpoints: 1,
      effects: 0,
      writes: 0,
      skipped: 0,
      verified: true,
    });
    const runs = join(folder(), "runs");
    await copyStore(await database("from-folder"), `jsonl:${runs}`);
    expect(JSON.parse((await post(bodyOf(filesIn(runs)))).text)).toMatchObject({ runs: 1 });
    // Again: it is equal.
    expect(JSON.parse((await post(bodyOf(filesIn(runs)))).text)).toMatchObject({ runs: 1, skipped: 0 });
    const { runs: all } = await own.get("runs");
    expect(all.map(({ run }: { run: string }) => run)).toEqual(["from-folder", "from-file"]);
    // A run with more steps here than there.
    await new CheckpointStore(own.store).save(checkpoint({ id: "more", runId: "from-file", timestamp: 9 }));
    const body = bodyOf([["other.db", readFileSync(path)]]);
    expect(errorOf(await post(body))).toMatchObject({ status: 409, code: "CONFLICT" });
    expect(JSON.parse((await post(body, "?onConflict=skip")).text)).toMatchObject({ skipped: 1 });
    expect(JSON.parse((await post(body, "?onConflict=replace")).text)).toMatchObject({ skipped: 0 });
    expect((await own.get("run", { space, run: "from-file" })).run.checkpoints).toBe(1);
    expect(left()).toEqual(before);
  });

  test("refuses names that lead elsewhere, wrong sizes, and what is no database", async () => {
    const before = left();
    const own = await start();
    const post = (body: string, query = "") => own.ask(`import${query}`, { method: "POST", headers, body });
    const one = Buffer.from("x");
    for (const name of [
      "../evil",
      "/etc/passwd",
      "a/../../b",
      "",
      ".",
      "a//b",
      "C:\\x",
      "a\\b",
      "a\0b",
      "x".repeat(300),
      "a/".repeat(9) + "b",
    ]) {
      expect(errorOf(await post(bodyOf([[name, one]]))), name).toMatchObject({
        status: 400,
        message: expect.stringContaining("name of a file"),
      });
    }
    for (const [body, why] of [
      ["no line", "body"],
      ["[]\n", "list of files"],
      ["{}\n", "list of files"],
      [bodyOf([], [{ name: "a", size: -1 }]), "size"],
      [bodyOf([], [{ name: "a", size: 5 }]), "ends before"],
      [
        bodyOf([
          ["a", one],
          ["A", one],
        ]),
        "name of a file",
      ],
      [
        bodyOf([
          ["a", one],
          ["b", one],
        ]),
        "choose one database",
      ],
      [
        bodyOf([
          ["a/order.jsonl", one],
          ["b/order.jsonl", one],
        ]),
        "several exports",
      ],
      [bodyOf([["a.db", Buffer.alloc(4096)]]), "no database of Forkpoint"],
      [bodyOf([["run.html", Buffer.from("<!doctype html>")]]), "only shows a run"],
    ] as const) {
      expect(errorOf(await post(body)), why).toMatchObject({ status: 400, message: expect.stringContaining(why) });
    }
    expect(errorOf(await post(bodyOf([], [{ name: "a", size: 2 ** 31 }])))).toMatchObject({
      status: 413,
      code: "TOO_LARGE",
    });
    expect(errorOf(await post(bodyOf([["a", one]]), "?onConflict=merge"))).toMatchObject({ status: 400 });
    const damaged = readFileSync(await database("damaged"));
    damaged.fill(0x41, 4_096);
    const { status, code } = errorOf(await post(bodyOf([["a.db", damaged]])));
    expect([status, code]).toEqual([500, "CORRUPT"]);
    expect((await own.get("runs")).runs).toEqual([]);
    expect(left()).toEqual(before);
  });

  test("needs a type that no form sends", async () => {
    const body = bodyOf([["other.db", readFileSync(await database("x"))]]);
    const own = await start();
    for (const type of ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"]) {
      expect((await own.ask("import", { method: "POST", headers: { "content-type": type }, body })).status).toBe(415);
    }
    // The other routes that write take JSON only.
    expect((await own.ask("rm", { method: "POST", headers, body: "{}" })).status).toBe(415);
    expect((await own.get("runs")).runs).toEqual([]);
  });
});

describe("importFrom", () => {
  test("needs write, and rejects a missing source", async () => {
    const { openInspector } = await import("forkpoint/inspect");
    const store = await opened("memory:");
    await using reading = await openInspector(store);
    await expect(reading.importFrom("none.db")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await using writing = await openInspector(store, { write: true });
    await expect(writing.importFrom(join(folder(), "none.db"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    const from = await openStore("memory:");
    await new CheckpointStore(from).save(checkpoint({ id: "a-0", runId: "a" }));
    expect(await writing.importFrom(from)).toMatchObject({ lineages: 1, checkpoints: 1, skipped: 0 });
    await from.close();
  });
});
