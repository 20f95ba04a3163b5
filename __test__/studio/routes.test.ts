// Tests the routes of the studio against real stores: what they answer, what they refuse, and how much they send.
import { CheckpointStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { fill, opened } from "../contents.js";
import { checkpoint } from "../helpers.js";
import { ask, errorOf, saveRun, start, startStudio } from "./helpers.js";

const MAX = 512 * 2 ** 10;
const run = { space: "agentos", run: "run" };

/** The marks of what was left out, in a value. */
function marksIn(value: unknown): Array<{ $type: "More"; path: unknown[]; count: number }> {
  if (typeof value !== "object" || value === null) return [];
  if ((value as { $type?: unknown }).$type === "More") return [value as never];
  return Object.values(value).flatMap(marksIn);
}

describe("what a store is", () => {
  test("info, stats and activity are what the inspector says", async () => {
    const store = await opened("memory:");
    await fill(store);
    const { get, inspector } = await start(store);
    expect(await get("info")).toEqual(await inspector.info());
    expect(await get("stats")).toEqual(await inspector.stats());
    expect(await get("activity")).toEqual({ hours: await inspector.activity() });
    expect((await get("stats", { largest: 2 })).largest).toHaveLength(2);
  });

  test("of an empty store", async () => {
    const { get } = await start();
    expect(await get("info")).toMatchObject({ backend: "memory", spaces: [], write: true });
    expect(await get("runs")).toEqual({ runs: [], cursor: null });
    expect(await get("stats")).toMatchObject({ checkpoints: 0, largest: [] });
  });
});

describe("runs", () => {
  test("is a page of what the inspector lists, with its status", async () => {
    const store = await opened("memory:");
    await fill(store);
    const { get, inspector } = await start(store);
    const { items, cursor } = await inspector.runs({ limit: 20, withWhy: true });
    expect(await get("runs")).toEqual({ runs: items, cursor });
    const pages: string[] = [];
    for (let next: string | null = ""; next !== null;) {
      const page: { runs: Array<{ run: string }>; cursor: string | null } = await get("runs", {
        limit: 3,
        cursor: next,
      });
      expect(page.runs.length).toBeLessThanOrEqual(3);
      pages.push(...page.runs.map((each) => each.run));
      next = page.cursor;
    }
    expect(pages).toEqual((await inspector.runs({ limit: 1_000 })).items.map((each) => each.run));
  });

  test("filters, and an empty filter is none", async () => {
    const store = await opened("memory:");
    await fill(store);
    const { get, inspector } = await start(store);
    const all = await get("runs", { limit: 1_000 });
    expect(await get("runs", { limit: 1_000, space: "", status: "", match: "", since: "", sort: "" })).toEqual(all);
    for (const query of [
      { space: "agentos" },
      { match: "run-1" },
      { status: "unfinished" as const },
      { sort: "size" as const },
      { since: Date.now() + 60_000 },
      { allNs: true },
      { ns: "namespace 1" },
    ]) {
      const { items } = await inspector.runs({ ...query, limit: 1_000, withWhy: true });
      const asked = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
      expect((await get("runs", { limit: 1_000, ...asked })).runs, JSON.stringify(query)).toEqual(items);
    }
  });

  test("leaves out the status, or has the sizes too, if one says so", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [1, 2]);
    const { get } = await start(store);
    expect((await get("runs", { withWhy: "false" })).runs[0]).toMatchObject({ status: "unfinished", statusWhy: null });
    expect((await get("runs", { withWhy: "0", withBytes: "1" })).runs[0].bytes.logical).toBeGreaterThan(0);
  });

  test("of names some runs, in that order, and null for what is not there", async () => {
    const store = await opened("memory:");
    await saveRun(store, "a", [1]);
    await saveRun(store, "b", [1, 2]);
    const { get } = await start(store);
    const of = JSON.stringify([
      ["agentos", "b", null],
      ["agentos", "none", null],
      ["agentos", "a", null],
    ]);
    const { runs } = await get("runs", { of, withBytes: 1 });
    expect(runs.map((each: { run: string } | null) => each?.run)).toEqual(["b", undefined, "a"]);
    expect(runs[0]).toMatchObject({ checkpoints: 2, status: "unfinished" });
  });

  test("refuses wrong parameters, and names them", async () => {
    const { ask } = await start();
    const many = JSON.stringify(Array.from({ length: 101 }, () => ["agentos", "a", null]));
    for (const [query, name] of [
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["limit=ten", "limit"],
      ["limit=1e2", "limit"],
      ["status=running", "status"],
      ["sort=name", "sort"],
      ["since=-1", "since"],
      ["allNs=yes", "allNs"],
      ["of=x", "of"],
      ["of={}", "of"],
      ["of=[[1,2,3]]", "of"],
      [`of=${many}`, "of"],
      ["label=customer", "label"],
      ["label=a&label==b", "label"],
      ["cursor=nonsense", "cursor"],
    ]) {
      const answer = errorOf(await ask(`runs?${query}`));
      expect(answer, query).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
      expect(answer.message).toContain(name);
    }
  });
});

describe("run", () => {
  test("has its checkpoints, the newest first, and its forks", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [1, 2, 3, 4, 5]);
    const fork = await new CheckpointStore(store).fork(ids[2]!);
    const { get, inspector } = await start(store);
    const first = await get("run", { ...run, limit: 2 });
    expect(first.run).toEqual(await inspector.run(run, { withWhy: true, withBytes: true }));
    expect(first.checkpoints.map(({ id }: { id: string }) => id)).toEqual([ids[4], ids[3]]);
    expect(first.forks.map((each: { run: string }) => each.run)).toEqual([fork]);
    expect(first.forks[0].forkedFrom.id).toBe(ids[2]);
    const second = await get("run", { ...run, limit: 2, cursor: first.cursor });
    const third = await get("run", { ...run, limit: 2, cursor: second.cursor });
    const rest = [...second.checkpoints, ...third.checkpoints].map(({ id }: { id: string }) => id);
    expect(rest).toEqual([ids[2], ids[1], ids[0]]);
    expect(third.cursor).toBeNull();
    expect((await get("run", { space: "agentos", run: fork })).run.forkedFrom).toMatchObject({
      run: "run",
      id: ids[2],
    });
  });

  test("that is unknown is 404, and a parameter that is missing is 400", async () => {
    const { ask } = await start();
    expect(errorOf(await ask("run?space=agentos&run=none"))).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(errorOf(await ask("run?space=agentos"))).toMatchObject({ status: 400 });
    expect(errorOf(await ask("run?run=none"))).toMatchObject({ status: 400 });
    expect(errorOf(await ask("checkpoint?space=agentos&run=none"))).toMatchObject({ status: 404 });
    expect(errorOf(await ask("run?space=none&run=none"))).toMatchObject({ status: 400 });
  });
});

describe("checkpoint", () => {
  test("is the newest unless said, with all of a small state", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [{ when: new Date(0), n: 1n }, { n: 2 }]);
    const { get, inspector } = await start(store);
    for (const asked of [{}, { id: ids[0]! }, { step: 0 }, { step: -1 }]) {
      const expected = await inspector.checkpoint({ ...run, ...asked });
      const found = await get("checkpoint", { ...run, ...asked, depth: 50 });
      expect(found).toMatchObject(expected!);
    }
  });

  test("is cut by depth, items and the length of texts, and the rest is read by its path", async () => {
    const store = await opened("memory:");
    const scratch = {
      deep: { a: { b: { c: { d: 1 } } } },
      list: Array.from({ length: 500 }, (_, n) => n),
      text: "x".repeat(100_000),
      ...Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`key ${n}`, n])),
    };
    await saveRun(store, "run", [scratch]);
    const { get } = await start(store);
    const { state } = await get("checkpoint", run);
    const marks = marksIn(state);
    expect(marks.length).toBeGreaterThan(0);
    for (const { path, count } of marks) expect([Array.isArray(path), count > 0]).toEqual([true, true]);
    const at = async (path: string, more = {}) => (await get("checkpoint", { ...run, path, ...more })).state;
    expect(await at("scratch.deep.a.b")).toEqual({ c: { d: 1 } });
    expect(await at("scratch.list[498:500]")).toEqual([498, 499]);
    expect(await at("scratch.list", { items: 500 })).toEqual(scratch.list);
    expect(await at('scratch["key 299"]')).toBe(299);
    expect(await at("scratch.list[-1]")).toBe(499);
    expect(marksIn(await at("scratch.list", { items: 10 }))[0]).toMatchObject({ count: 490 });
    expect(JSON.stringify(await at("scratch.text")).length).toBeLessThan(66_000);
  });

  test("with a path that leads nowhere is 404, and with a wrong one 400", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [{ n: 1 }]);
    const { ask } = await start(store);
    const at = (path: string) => ask(`checkpoint?space=agentos&run=run&path=${encodeURIComponent(path)}`);
    for (const path of ["none", "scratch.n.length", "__proto__", "scratch.constructor", "scratch[0]"]) {
      expect(errorOf(await at(path)), path).toMatchObject({ status: 404, code: "NOT_FOUND" });
    }
    for (const path of ["scratch[", "a..b", 'scratch["', "[x]"]) {
      expect(errorOf(await at(path)), path).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    }
    for (const query of ["depth=-1", "items=0", "step=x", "part=secret"]) {
      expect(errorOf(await ask(`checkpoint?space=agentos&run=run&${query}&path=scratch`)), query).toMatchObject({
        status: 400,
      });
    }
  });

  test("that is gone is 410 while its run is there", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [1, 2]);
    const { ask, get } = await start(store);
    await new CheckpointStore(store).delete(ids[0]!);
    for (const route of ["checkpoint", "raw", "search"]) {
      const answer = errorOf(await ask(`${route}?space=agentos&run=run&id=${ids[0]}&text=x`));
      expect(answer, route).toMatchObject({ status: 410, code: "NOT_FOUND" });
      expect(answer.message).toContain(ids[0]);
    }
    expect(errorOf(await ask(`diff?space=agentos&run=run&to=${ids[0]}`))).toMatchObject({ status: 410 });
    expect(errorOf(await ask(`diff?space=agentos&run=run&from=${ids[0]}&to=${ids[1]}`))).toMatchObject({ status: 410 });
    expect(errorOf(await ask("checkpoint?space=agentos&run=run&step=7"))).toMatchObject({ status: 410 });
    expect((await get("checkpoint", run)).checkpoint.id).toBe(ids[1]);
  });

  test("part reads another part of it", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [1]);
    const { get } = await start(store);
    expect((await get("checkpoint", { ...run, part: "rest", path: "visitedNodes" })).state).toEqual(["node-1"]);
  });
});

test("no answer of any route is above 512 KB", { timeout: 120_000 }, async () => {
  const store = await opened("memory:");
  const text = "word ".repeat(60_000);
  const wide = Object.fromEntries(
    Array.from({ length: 400 }, (_, n) => [`${"key ".repeat(200)}${n}`, text.slice(0, 4_000)]),
  );
  const states = [
    { text },
    { text: `${text}!`, wide },
    { list: Array.from({ length: 200 }, () => [text.slice(0, 30_000)]) },
  ];
  await saveRun(store, "run", states);
  const graphs = new CheckpointStore(store);
  // Rows with long names.
  const long = (n: number) => `${"long ".repeat(100)}${n}`;
  for (let n = 0; n < 900; n++) {
    await graphs.save(checkpoint({ id: `many ${n}`, runId: "many", nodeId: long(n), timestamp: n }));
    if (n % 3 === 0) await graphs.save(checkpoint({ id: long(n), runId: long(n), graphId: long(n), nodeId: long(n) }));
  }
  const { ask } = await start(store);
  for (const path of [
    "runs?limit=1000",
    "run?space=agentos&run=many&limit=1000",
    ...[0, 1, 2].flatMap((step) => [
      `checkpoint?space=agentos&run=run&step=${step}`,
      `checkpoint?space=agentos&run=run&step=${step}&depth=100&items=10000`,
      `checkpoint?space=agentos&run=run&step=${step}&path=scratch&depth=100&items=10000`,
    ]),
    "diff?space=agentos&run=run&to=run-1",
    "diff?space=agentos&run=run&to=run-2",
    "search?space=agentos&run=run&id=run-1&text=key",
    "stats?largest=1000",
  ]) {
    const { status, text: answer } = await ask(path);
    expect(status, path).toBe(200);
    expect(Buffer.byteLength(answer), path).toBeLessThanOrEqual(MAX);
  }
});

describe("diff", () => {
  test("is against the parent, or between any two", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [{ n: 1 }, { n: 2 }, { n: 3, more: true }]);
    const { get, inspector } = await start(store);
    const names = (answer: { from: { id: string } | null; to: { id: string } }) => [answer.from?.id, answer.to.id];
    expect(names(await get("diff", run))).toEqual([ids[1], ids[2]]);
    expect(names(await get("diff", { ...run, from: ids[1]! }))).toEqual([ids[0], ids[1]]);
    expect(names(await get("diff", { ...run, to: ids[1]! }))).toEqual([ids[0], ids[1]]);
    expect(names(await get("diff", { ...run, to: ids[0]! }))).toEqual([undefined, ids[0]]);
    const both = await get("diff", { ...run, from: ids[0]!, to: ids[2]!, part: "state" });
    expect(names(both)).toEqual([ids[0], ids[2]]);
    expect(both.truncated).toBe(false);
    const at = (id: string) => ({ ...run, id });
    expect(both.changes).toEqual((await inspector.diff(at(ids[0]!), at(ids[2]!), { parts: ["state"] })).changes);
    expect(both.changes.map(({ op, path }: { op: string; path: string[] }) => [op, path.join(".")])).toEqual([
      ["replace", "scratch.n"],
      ["add", "scratch.more"],
    ]);
  });

  test("leads to another run", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [{ n: 1 }]);
    const fork = await new CheckpointStore(store).fork(ids[0]!, { scratch: { n: 9 } });
    const { get } = await start(store);
    const found = await get("diff", { ...run, from: ids[0]!, toRun: fork, part: "state" });
    expect([found.from.run, found.to.run]).toEqual(["run", fork]);
    expect(found.changes).toEqual([{ part: "state", op: "replace", path: ["scratch", "n"], before: 1, after: 9 }]);
  });

  test("says if there are more changes than it has", async () => {
    const store = await opened("memory:");
    const many = (by: number) => Object.fromEntries(Array.from({ length: 2_500 }, (_, n) => [`key${n}`, n + by]));
    await saveRun(store, "run", [many(0), many(1)]);
    const { get } = await start(store);
    const { changes, truncated } = await get("diff", { ...run, part: "state" });
    expect([changes.length, truncated]).toEqual([2_000, true]);
  });
});

describe("search", () => {
  test("finds keys, texts and numbers, whatever their case, with their paths", async () => {
    const store = await opened("memory:");
    const scratch = {
      Needle: 1,
      list: ["a needle in it", { deep: { value: 4711 } }],
      map: new Map<unknown, unknown>([["needle key", 1]]),
      when: new Date(Date.UTC(2026, 0, 31)),
      bytes: new Uint8Array(9),
    };
    const [id] = await saveRun(store, "run", [scratch]);
    const { get, ask } = await start(store);
    const find = async (text: string, more = {}) =>
      (await get("search", { ...run, id: id!, text, ...more })).matches.map((match: { path: string[] }) =>
        match.path.join("."),
      );
    expect(await find("NEEDLE")).toEqual(["scratch.Needle", "scratch.list.0", "scratch.map.needle key"]);
    expect(await find("4711")).toEqual(["scratch.list.1.deep.value"]);
    expect(await find("2026-01-31")).toEqual(["scratch.when"]);
    expect(await find("AAAA")).toEqual([]);
    expect(await find("node-1", { part: "rest" })).not.toEqual([]);
    expect(errorOf(await ask(`search?space=agentos&run=run&id=${id}`))).toMatchObject({ status: 400 });
    expect(errorOf(await ask(`search?space=agentos&run=run&id=${id}&text=`))).toMatchObject({ status: 400 });
  });

  test("ends at 200 matches and says so", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [Array.from({ length: 300 }, () => "same")]);
    const { get } = await start(store);
    const { matches, truncated } = await get("search", { ...run, id: id!, text: "same" });
    expect([matches.length, truncated]).toEqual([200, true]);
  });
});

describe("raw", () => {
  test("is the whole state, or the value at a path, as a download", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [{ text: "x".repeat(900_000), list: [1, { when: new Date(0) }] }]);
    const { ask, inspector } = await start(store);
    const { status, text, headers } = await ask("raw?space=agentos&run=run");
    expect([status, headers["content-type"], headers["content-disposition"]]).toEqual([
      200,
      "application/octet-stream",
      "attachment",
    ]);
    expect(JSON.parse(text)).toEqual((await inspector.checkpoint(run))!.state);
    const part = await ask("raw?space=agentos&run=run&path=scratch.list");
    expect(JSON.parse(part.text)).toEqual([1, { when: { $type: "Date", value: "1970-01-01T00:00:00.000Z" } }]);
  });
});

describe("fork", () => {
  test("answers 201 with what was made, and the source stays as it is", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [{ n: 1 }]);
    const { post, get, inspector } = await start(store);
    const before = await inspector.checkpoint({ ...run, id: id! });
    const answer = await post("fork", { ...run, id, set: [["scratch.n", 7]], as: "other" });
    expect(answer.status).toBe(201);
    const forked = JSON.parse(answer.text);
    expect(forked).toEqual({
      space: "agentos",
      run: "other",
      ns: null,
      id: forked.id,
      from: { space: "agentos", run: "run", ns: null, id },
      dryRun: false,
    });
    expect((await get("checkpoint", { space: "agentos", run: "other" })).state.scratch).toEqual({ n: 7 });
    expect(await inspector.checkpoint({ ...run, id: id! })).toEqual(before);
    expect(errorOf(await post("fork", { ...run, id, as: "other" }))).toMatchObject({ status: 409, code: "CONFLICT" });
  });

  test("with dryRun shows the changes and stores nothing", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [{ n: 1, gone: true }]);
    const { post } = await start(store);
    const body = { ...run, id, set: [["scratch.n", 7]], patch: { scratch: { gone: null } }, dryRun: true };
    const { status, text } = await post("fork", body);
    expect([status, (await store.stats()).checkpoints]).toEqual([200, 1]);
    expect(JSON.parse(text)).toMatchObject({
      dryRun: true,
      truncated: false,
      changes: [
        { part: "state", op: "replace", path: ["scratch", "n"], before: 1, after: 7 },
        { part: "state", op: "remove", path: ["scratch", "gone"], before: true },
      ],
    });
  });

  test("refuses what it cannot do, and stores nothing", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [{ n: 1 }]);
    const { post, get } = await start(store);
    const { state } = await get("checkpoint", run);
    for (const [body, status, code] of [
      [{ ...run, id: "none" }, 404, "NOT_FOUND"],
      [{ ...run, id, state: { ...state, scratch: { $type: "Nonsense" } } }, 400, "UNSUPPORTED"],
      [{ ...run, id, set: [["scratch[", 1]] }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, set: [["none.deep", 1]] }, 404, "NOT_FOUND"],
      [{ ...run, id, set: [["a"]] }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, set: { "scratch.n": 1 } }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, as: 7 }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, dryRun: "yes" }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, sate: {} }, 400, "INVALID_ARGUMENT"],
      [{ ...run, id, ns: 1 }, 400, "INVALID_ARGUMENT"],
      [{ ...run }, 400, "INVALID_ARGUMENT"],
      [{ id }, 400, "INVALID_ARGUMENT"],
      [[], 400, "INVALID_ARGUMENT"],
      ["null", 400, "INVALID_ARGUMENT"],
      ["", 400, "INVALID_ARGUMENT"],
    ] as const) {
      const answer = errorOf(await post("fork", body));
      expect(answer, JSON.stringify(body)).toMatchObject({ status, code });
    }
    const broken = errorOf(await post("fork", '{\n  "space": agentos }'));
    expect(broken.message).toContain("line 2, column 12");
    expect((await store.stats()).checkpoints).toBe(1);
  });
});

describe("rm", () => {
  test("removes some checkpoints, or the run; an empty list removes nothing", async () => {
    const store = await opened("memory:");
    const ids = await saveRun(store, "run", [1, 2, 3]);
    await saveRun(store, "other", [1]);
    const { post } = await start(store);
    const rm = async (body: unknown) => JSON.parse((await post("rm", body)).text);
    expect(await rm({ ...run, ids: [] })).toEqual({ removed: 0 });
    expect(await rm({ ...run, ids: [ids[0]] })).toEqual({ removed: 1 });
    expect((await store.stats()).checkpoints).toBe(3);
    expect(await rm(run)).toEqual({ removed: 2 });
    expect((await store.stats()).checkpoints).toBe(1);
    for (const wrong of [{ ...run, ids: null }, { ...run, ids: "x" }, { ...run, ids: [1] }, { ...run, id: "x" }, {}]) {
      expect(errorOf(await post("rm", wrong)), JSON.stringify(wrong)).toMatchObject({ status: 400 });
    }
    expect((await store.stats()).checkpoints).toBe(1);
  });
});

test("an inspector that may not write refuses, also behind a studio that may", async () => {
  const store = await opened("memory:");
  const [id] = await saveRun(store, "run", [1]);
  const inspector = await openInspector(store);
  const studio = await startStudio(inspector, { port: 0, write: true, portWasSaid: false });
  const answer = await ask(studio.port, "/api/v1/fork", {
    method: "POST",
    headers: { authorization: `Bearer ${studio.url.slice(-43)}`, "content-type": "application/json" },
    body: JSON.stringify({ ...run, id }),
  });
  await studio.close();
  expect(errorOf(answer)).toMatchObject({ status: 400, code: "UNSUPPORTED" });
});

test("the longest ids can be asked for", async () => {
  const store = await opened("memory:");
  const id = "é".repeat(2_048);
  await new CheckpointStore(store).save(checkpoint({ id, runId: id }));
  const { get } = await start(store);
  const found = await get("checkpoint", { space: "agentos", run: id, id });
  expect(found.checkpoint.id).toBe(id);
  expect((await get("diff", { space: "agentos", run: id, to: id, from: id, toRun: id })).changes).toEqual([]);
  expect((await get("runs", { of: JSON.stringify([["agentos", id, null]]) })).runs[0].run).toBe(id);
});

test("hostile ids and values come back exactly", async () => {
  const store = await opened("memory:");
  const hostile = `"><script>\u2028\u202e\u001b[2J\\'${"\u{1f4be}"}`;
  const graphs = new CheckpointStore(store);
  const state = { ...checkpoint().state, scratch: { [hostile]: hostile, __proto__: 1, $type: "Date" } };
  await graphs.save(checkpoint({ id: hostile, runId: hostile, graphId: hostile, nodeId: hostile, state }));
  const { get } = await start(store);
  const { runs } = await get("runs");
  expect(runs[0]).toMatchObject({ run: hostile, group: hostile });
  const found = await get("checkpoint", { space: "agentos", run: hostile, id: hostile, depth: 9 });
  expect(JSON.stringify(found.state.scratch)).toContain(JSON.stringify(hostile).slice(1, -1));
  expect((await get("run", { space: "agentos", run: hostile })).checkpoints[0].label).toBe(hostile);
});
