// Tests the search in states: what it finds in every kind of store, and that a look at the bytes misses nothing.
import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import {
  type Inspector,
  type SearchHit,
  type SearchOptions,
  type SearchProgress,
  openInspector,
} from "forkpoint/inspect";
import { SessionStore } from "forkpoint/helix";
import { formatPath, toJsonForm, valueAt, parsePath } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { inspected as opened } from "../contents.js";
import { texts } from "../helix/helpers.js";
import { checkpoint, kinds, place, rejection, thrown } from "../helpers.js";

async function all(inspector: Inspector, text: string, options?: SearchOptions): Promise<SearchHit[]> {
  const hits: SearchHit[] = [];
  for await (const hit of inspector.search(text, options)) hits.push(hit);
  return hits;
}

const shown = ({ run, step, part, path }: SearchHit) => `${run} ${step} ${formatPath([part, ...path])}`;

async function found(inspector: Inspector, text: string, options?: SearchOptions): Promise<string[]> {
  return (await all(inspector, text, options)).map(shown);
}

/** Saves a step of a run of Agentium, whose state may be anything. */
const save = (steps: WorkflowCheckpointStore<any>, runId: string, n: number, state: unknown) =>
  steps.save({ id: `${runId}-${n}`, runId, stepIndex: n, stepName: `step ${n}`, state, createdAt: n });

describe.each(kinds)("a search in %s", (kind) => {
  test("finds keys and values, the last active run first", async () => {
    const { store, inspector } = await opened(place(kind));
    const steps = new WorkflowCheckpointStore<any>(store);
    const graphs = new CheckpointStore(store);
    await save(steps, "old", 0, { messages: [{ text: "the order 4711 is late" }] });
    await save(steps, "new", 0, { messages: [] });
    await save(steps, "new", 1, { order: { "4711": true }, list: [1, 4711, "x"], note: "4711 and 4711" });
    await graphs.save(checkpoint({ id: "g", runId: "graph", nodeResults: { pay: { output: "4711" } } as never }));
    expect(await found(inspector, "4711")).toEqual([
      "graph 0 rest.nodeResults.pay.output",
      'new 1 state.order["4711"]',
      "new 1 state.list[1]",
      "new 1 state.note",
      "old 0 state.messages[0].text",
    ]);
    const [hit] = await all(inspector, "ORDER 4711", { ignoreCase: true });
    const { savedAt } = hit!;
    expect(hit).toEqual({
      space: "agentium",
      run: "old",
      ns: null,
      id: "old-0",
      step: 0,
      label: "step 0",
      savedAt,
      part: "state",
      path: ["messages", 0, "text"],
      inKey: false,
      snippet: {
        before: "the ",
        match: "order 4711",
        after: " is late",
      },
    });
    expect(await found(inspector, "ORDER 4711")).toEqual([]);
    expect(await found(inspector, "order \\d+", { regex: true })).toEqual(["old 0 state.messages[0].text"]);
    expect(await found(inspector, "4711", { space: "agentos" })).toEqual(["graph 0 rest.nodeResults.pay.output"]);
    expect(await found(inspector, "4711", { run: "old" })).toEqual(["old 0 state.messages[0].text"]);
    expect(await found(inspector, "4711", { run: "none" })).toEqual([]);
    expect(await found(inspector, "4711", { limit: 2 })).toHaveLength(2);
    expect((await all(inspector, "4711")).map(({ inKey }) => inKey)).toEqual([false, true, false, false, false]);
    expect(await found(inspector, "absent")).toEqual([]);
  });

  test("filters by status and labels", async () => {
    const { store, inspector } = await opened(place(kind));
    const graphs = new CheckpointStore(store);
    const state = { ...checkpoint().state, scratch: { word: "needle" } };
    const { nodeId } = checkpoint();
    await graphs.save(checkpoint({ id: "a", runId: "done", state, pendingEdges: [] }));
    const failed = { visitedNodes: [], nodeResults: { [nodeId]: { output: 1 } } as never, pendingEdges: ["a->b"] };
    await graphs.save(checkpoint({ id: "b", runId: "bad", state, ...failed }));
    await inspector.setLabels({ space: "agentos", run: "done" }, { customer: "acme" });
    const { items } = await inspector.runs();
    expect(items).toHaveLength(2);
    for (const { run, status } of items) {
      const names = (await all(inspector, "needle", { status })).map((hit) => hit.run);
      expect(names).toEqual(items.filter((each) => each.status === status).map((each) => each.run));
      expect(names).toContain(run);
    }
    expect((await all(inspector, "needle", { label: { customer: "acme" } })).map(({ run }) => run)).toEqual(["done"]);
  });

  test("of all steps reports each place once, where it was saved first", async () => {
    const { store, inspector } = await opened(place(kind));
    const steps = new WorkflowCheckpointStore<any>(store);
    const messages = ["hello", "a needle here", "more", "another needle", "a needle here"].map((text) => ({ text }));
    for (let n = 0; n < 5; n++) await save(steps, "run", n, { messages: messages.slice(0, n + 1), step: n });
    // The list has moved, and a text has grown: these places are known.
    await save(steps, "run", 5, { messages: [...messages.slice(1), { text: "last" }], step: 5 });
    const expected = ["run 1 state.messages[1].text", "run 3 state.messages[3].text", "run 4 state.messages[4].text"];
    expect(await found(inspector, "needle", { allSteps: true })).toEqual(expected);
    expect(await found(inspector, "needle", { allSteps: true, run: "run", space: "agentium" })).toEqual(expected);
    expect(await found(inspector, "hello")).toEqual([]);
    expect(await found(inspector, "hello", { allSteps: true })).toEqual(["run 0 state.messages[0].text"]);
    let last: SearchProgress | undefined;
    await all(inspector, "hello", { allSteps: true, onProgress: (progress) => (last = progress) });
    expect(last).toEqual({ runs: 1, checkpoints: 6, hits: 1, unreadable: {}, damaged: 0 });
  });

  test("of Helix finds each session once, by its current state", async () => {
    const { store, inspector } = await opened(place(kind));
    const sessions = new SessionStore(store);
    await sessions.createSession("chat", { agentType: "writer" });
    await sessions.appendMessages("chat", texts(2, 0, "needle "));
    const hits = await found(inspector, "needle");
    expect(hits.map((hit) => hit.replace(/^chat \d+ /, ""))).toEqual([
      "state.messages[0].content",
      "state.messages[1].content",
    ]);
    expect(await found(inspector, "needle", { run: "chat" })).toEqual(hits);
  });
});

/** Values with all kinds of texts, in small and in large states, which are stored in other formats. */
const values: Record<string, unknown> = {
  text: 'Grüße 🜁 „quoted“ "double" back\\slash\nnew line\ttab \u0007 bell / slash <b>',
  latin: "façade ÿ",
  kelvin: "300 \u212a and lon\u017f",
  turkish: "\u0130stanbul",
  lone: "a\ud800b",
  numbers: [0, -1.5, 1e21, 123456789, Number.NaN, -0, Number.NEGATIVE_INFINITY, true, null, undefined],
  big: 12345678901234567890n,
  date: new Date("2026-01-31T12:00:00.000Z"),
  map: new Map<unknown, unknown>([
    ["key one", 1],
    [{ deep: "inside key" }, "value two"],
    [7, "seven"],
  ]),
  set: new Set(["member", 99]),
  pattern: /ab+c/gi,
  error: Object.assign(new TypeError("it failed"), { code: "E_X" }),
  bytes: new Uint8Array([110, 101, 101, 100]),
  'odd key "1"\n': { __proto__x: "proto", "": "empty key", "[0]": 1, "a.b": 2 },
  nested: [[["deep text"]]],
};

const needles = [
  ...'Grüße|🜁|„quoted“|"double"|back\\slash|line\ttab|\n|/ slash|<b>|façade|ÿ|K|k|s|lons|istanbul|İ|a\ud800b'.split(
    "|",
  ),
  ..."1e+21|-1.5|456|true|null|NaN|Infin|90123|2026-01-31T12|key one|inside|value two|seven|member|99|ab+c".split("|"),
  ...'failed|TypeError|E_X|need|key "1"|__proto__x|empty key|[0]|a.b|deep text|deep|message|stack|absent|7|e|T'.split(
    "|",
  ),
];

/** Finds a text as people would: in each shown key and value. */
function expectedIn(form: unknown, fits: (text: string) => boolean, path: Array<string | number> = []): string[] {
  const own = (text: string, key: string | number) => {
    const isKey = typeof key === "string" && fits(key);
    return isKey || fits(text) ? [formatPath([...path, key])] : [];
  };
  const type = (form as { $type?: string } | null)?.$type;
  const { value } = (form ?? {}) as { value: any };
  const entries: Array<[string | number, unknown, (string | number)[]?]> = Array.isArray(form)
    ? [...form.entries()]
    : type === "Map"
      ? value.map(([key, each]: [unknown, unknown], at: number) =>
          typeof key === "string" ? [key, each] : [at, each, [at, 1]],
        )
      : type === "Set"
        ? value.map((each: unknown, at: number) => [at, each])
        : Object.entries(type === "Error" ? value : (form as object));
  const leaf = (each: any): string | null => {
    if (typeof each !== "object" || each === null) return String(each);
    if (each.$type === "RegExp") return each.value.source;
    if (["Bytes", "Undefined", "Hole"].includes(each.$type)) return "";
    return ["Date", "BigInt", "Number"].includes(each.$type) ? String(each.value) : null;
  };
  return entries.flatMap(([key, each, steps]) => {
    const text = leaf(each);
    const to = steps ?? [key];
    const mine = text === null ? own("", key) : own(text, key).map(() => formatPath([...path, ...to]));
    const inside = text === null ? expectedIn(each, fits, [...path, ...to]) : [];
    const keys = steps === undefined ? [] : keysOf(form, key as number, fits, path);
    return mine.filter(() => text !== null || (typeof key === "string" && fits(key))).concat(inside, keys);
  });
}

function keysOf(map: any, at: number, fits: (text: string) => boolean, path: Array<string | number>): string[] {
  const key = map.value[at][0];
  const own = [...path, at, 0];
  if (typeof key === "object") return expectedIn(key, fits, own);
  return fits(String(key)) ? [formatPath(own)] : [];
}

describe.each(["v8", "json"] as const)("with the serializer %s", (serializer) => {
  test.each([0, 40])("a look at the bytes misses no text, beside %d larger values", async (more) => {
    const { store, inspector } = await opened("memory:", { serializer });
    const steps = new WorkflowCheckpointStore<any>(store);
    // JSON stores only what it can represent.
    const plain =
      serializer === "v8" ? values : (JSON.parse(JSON.stringify({ ...values, big: 1, error: "it failed" })) as object);
    const rest = Object.fromEntries(Array.from({ length: more }, (_, n) => [`filler ${n}`, "x".repeat(500)]));
    // Each value alone, so that another value does not lead to it.
    for (const [key, value] of Object.entries(plain)) await save(steps, `run ${key}`, 0, { [key]: value, ...rest });
    const states = await Promise.all(
      Object.keys(plain).map(async (key) => [
        key,
        (await inspector.checkpoint({ space: "agentium", run: `run ${key}` }))!.state,
      ]),
    );
    let compared = 0;
    for (const needle of needles) {
      for (const ignoreCase of [false, true]) {
        const escaped = needle.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
        const expression = new RegExp(escaped, ignoreCase ? "iu" : "u");
        const fits = ignoreCase ? (text: string) => expression.test(text) : (text: string) => text.includes(needle);
        const expected = states.flatMap(([key, state]) => expectedIn(state, fits).map((path) => `run ${key} ${path}`));
        const hits = (await all(inspector, needle, { ignoreCase })).filter(({ part }) => part === "state");
        const actual = hits.map(({ run, path }) => `${run} ${formatPath(path)}`);
        expect(actual.toSorted(), `${JSON.stringify(needle)} ${ignoreCase}`).toEqual(expected.toSorted());
        compared += actual.length;
        if (ignoreCase) continue;
        const regex = (await all(inspector, escaped, { regex: true })).filter(({ part }) => part === "state");
        // A surrogate is no character of its own for an expression.
        if (!needle.includes("\ud800"))
          expect(regex.map(({ run, path }) => `${run} ${formatPath(path)}`)).toEqual(actual);
      }
    }
    expect(compared).toBeGreaterThan(100);
  });
});

describe("a search", () => {
  test("leads to the value by its path", async () => {
    const { store, inspector } = await opened("memory:");
    await save(new WorkflowCheckpointStore<any>(store), "run", 0, values);
    const { state } = (await inspector.checkpoint({ space: "agentium", run: "run" }))!;
    for (const text of ["seven", "deep text", "a.b", "empty key", "member", "value two"]) {
      const [hit] = await all(inspector, text);
      expect(valueAt(state, parsePath(formatPath(hit!.path))), text).toBeDefined();
    }
    expect(toJsonForm(new Map([[1, 2]]))).toMatchObject({ $type: "Map" });
  });

  test("counts values that it cannot read", async () => {
    const secret = {
      name: "secret",
      serialize: (value: unknown) => Buffer.from(JSON.stringify(value)).map((byte) => byte ^ 7),
      deserialize: (bytes: Uint8Array) =>
        JSON.parse(
          Buffer.from(bytes)
            .map((byte) => byte ^ 7)
            .toString(),
        ) as unknown,
    };
    const target = place("sqlite");
    const store = await openStore(target, { serializer: secret });
    const steps = new WorkflowCheckpointStore<any>(store);
    for (let n = 0; n < 3; n++) await save(steps, "run", n, { text: "needle" });
    await store.close();
    let last: SearchProgress | undefined;
    const options: SearchOptions = { onProgress: (progress) => (last = progress) };
    await using inspector = await openInspector(target);
    expect(await found(inspector, "needle", options)).toEqual([]);
    expect(last!.unreadable).toEqual({ secret: expect.any(Number) });
    expect(last!.unreadable["secret"]).toBeGreaterThan(0);
    await using reader = await openInspector(target, { serializers: [secret] });
    expect(await found(reader, "needle", options)).toEqual(["run 2 state.text"]);
    expect(last!.unreadable).toEqual({});
  });

  test("ends when its signal aborts, or the loop ends, and throws when the inspector is closed", async () => {
    const { store, inspector } = await opened("memory:");
    const steps = new WorkflowCheckpointStore<any>(store);
    for (let n = 0; n < 100; n++) await save(steps, `run ${n}`, 0, { text: "needle" });
    const stop = new AbortController();
    let count = 0;
    for await (const _ of inspector.search("needle", { signal: stop.signal })) if (++count === 3) stop.abort();
    expect(count).toBe(3);
    expect(await all(inspector, "needle", { signal: AbortSignal.abort() })).toEqual([]);
    for await (const _ of inspector.search("needle")) break;
    expect(await all(inspector, "needle")).toHaveLength(100);
    const running = inspector.search("needle")[Symbol.asyncIterator]();
    expect((await running.next()).done).toBe(false);
    await inspector.close();
    await expect(running.next()).rejects.toMatchObject({ code: "CLOSED" });
    expect(thrown(() => inspector.search("needle"))).toMatchObject({ code: "CLOSED" });
  });

  test("refuses a wrong text, a wrong expression, and one that takes too long", async () => {
    const { store, inspector } = await opened("memory:");
    await save(new WorkflowCheckpointStore<any>(store), "run", 0, { text: `${"a".repeat(60)}!` });
    const wrong: Array<[unknown, object?]> = [
      [""],
      [1],
      ["(", { regex: true }],
      ["a", { limit: 0 }],
      ["a", { space: "x" }],
    ];
    for (const [text, options] of wrong) {
      expect(thrown(() => inspector.search(text as string, options))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    const slow = inspector.search("^(a+)+$", { regex: true })[Symbol.asyncIterator]();
    expect(await rejection(slow.next())).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("longer than 2 s"),
    });
    expect(await found(inspector, "a\\-|a!", { regex: true })).toEqual(["run 0 state.text"]);
  });

  test("goes into deep and large values", async () => {
    const { store, inspector } = await opened("memory:");
    const steps = new WorkflowCheckpointStore<any>(store);
    let deep: unknown = "needle";
    for (let n = 0; n < 1_000; n++) deep = [deep];
    await save(steps, "deep", 0, { deep });
    await save(steps, "many", 0, { list: Array.from({ length: 5_000 }, (_, n) => `needle ${n}`) });
    await save(steps, "long", 0, { text: `${"x".repeat(3_000_000)} needle ${"y".repeat(1_000)}` });
    const hits = await all(inspector, "needle");
    expect(hits.filter(({ run }) => run === "many")).toHaveLength(1_000);
    expect(hits.find(({ run }) => run === "deep")!.path).toHaveLength(1_001);
    const { snippet } = hits.find(({ run }) => run === "long")!;
    expect(snippet).toEqual({ before: `…${"x".repeat(39)} `, match: "needle", after: ` ${"y".repeat(79)}…` });
  });
});
