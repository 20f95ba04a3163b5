// How suites run: what becomes of an expectation, and what is refused.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import { claudeAgentSdk, compare, counts, langgraphStore, markdown } from "../dist/index.js";
import { contract, folder, id, other, store } from "./stores.js";

const run = async (module: string, options: object = {}) => {
  const { results } = await langgraphStore({ module }).run({ only: [id], ...options });
  return results.map(({ status, reason, message }) => ({ status, reason, message }));
};

it("tells what has become of an expectation", async () => {
  expect(await run(store())).toEqual([{ status: "passed" }]);
  const [failed] = await run(store("", id));
  expect(failed).toMatchObject({ status: "failed", message: expect.stringMatching(/^AssertionError: /) });
  expect(await run(store(`export const skip = { "${id}": "not made for it" };`, id))).toEqual([
    { status: "skipped", reason: "not made for it" },
  ]);
  expect(await run(store("export const skip = { contract: 'a whole group' };", id))).toEqual([
    { status: "skipped", reason: "a whole group" },
  ]);
  expect(await run(store("export const skip = { 'langgraph-store/get-*': 'many' };", id))).toEqual([
    { status: "skipped", reason: "many" },
  ]);
  expect(await run(relative(process.cwd(), `${store("", id)}`))).toEqual([failed]);
  const known = `export const expectFail = { "${id}": "a known bug" };`;
  expect(await run(store(known, id))).toEqual([
    { status: "expected failure", reason: "a known bug", message: failed!.message },
  ]);
  expect(await run(store(known))).toEqual([{ status: "unexpected pass", reason: "a known bug" }]);
});

it("fails an expectation whose store throws, rejects with no error, or does not answer", async () => {
  expect(await run(store("export const open = () => { throw new RangeError('no store'); };"))).toEqual([
    { status: "failed", message: "RangeError: no store" },
  ]);
  expect(await run(store("export const open = () => Promise.reject('a text');"))).toEqual([
    { status: "failed", message: "a text" },
  ]);
  const silent =
    "export const open = () => ({ get: () => new Promise(() => {}) }); export const close = () => new Promise(() => {});";
  const began = Date.now();
  expect(await run(store(silent), { timeoutMs: 100 })).toEqual([
    { status: "failed", message: "Error: took more than 100 ms" },
  ]);
  expect(Date.now() - began).toBeGreaterThanOrEqual(100);
});

it("closes every store, and leaves no folder", async () => {
  const log = join(folder(), "log");
  writeFileSync(log, "");
  const code = `
    import { appendFileSync } from "node:fs";
    import { open as inner } from ${JSON.stringify(new URL("../mutants/langgraph-store/index.mjs", import.meta.url).href)};
    export const open = (place) => (appendFileSync(${JSON.stringify(log)}, "open " + place.target + "\\n"), inner(place));
    export const close = () => appendFileSync(${JSON.stringify(log)}, "close\\n");`;
  const { results } = await langgraphStore({ module: store(code), target: "{dir}/{n}/s" }).run({ only: [id, other] });
  expect(results.map(({ status }) => status)).toEqual(["passed", "passed"]);
  const lines = readFileSync(log, "utf8").trim().split("\n");
  expect(lines.filter((line) => line === "close")).toHaveLength(2);
  const targets = lines.filter((line) => line !== "close").map((line) => line.slice("open ".length));
  expect(new Set(targets).size).toBe(2);
  for (const target of targets) {
    expect(target).toMatch(/forkpoint-conformance-\w+\/\w+\/s$/);
    expect(existsSync(target)).toBe(false);
  }
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith("forkpoint-conformance-"));
  expect(left.filter((name) => targets.some((target) => target.includes(name)))).toEqual([]);
});

it("wipes a fixed target before each expectation", async () => {
  const wiping =
    'import { rmSync } from "node:fs"; export const wipe = ({ target }) => rmSync(target, { force: true });';
  const target = join(folder(), "fixed");
  const suite = langgraphStore({ module: store(wiping), target });
  const { results, target: shown } = await suite.run({ groups: ["contract", "isolation"] });
  expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
  expect(shown).toBe(target);
  await expect(langgraphStore({ module: store(), target }).run()).rejects.toThrow(/needs \{dir\} or \{n\}/);
});

it("fails an expectation whose store throws in the background, and goes on", async () => {
  const code = `export const open = () => ({
    get: () => { setTimeout(() => { throw new Error("from a timer"); }); return new Promise(() => {}); },
  });`;
  expect(await run(store(code))).toEqual([{ status: "failed", message: "Error: from a timer" }]);
  const rejecting = `export const open = () => ({ get: () => { Promise.reject(new Error("unhandled")); return new Promise(() => {}); } });`;
  expect(await run(store(rejecting))).toEqual([{ status: "failed", message: "Error: unhandled" }]);
});

it("keeps the stack of an error in another process, with its paths, out of reports", async () => {
  const code = `export const open = () => { throw new Error("failed elsewhere: no\\n    at run (/home/ada/store.mjs:1:2)"); };`;
  expect(await run(store(code))).toEqual([{ status: "failed", message: "Error: failed elsewhere: no" }]);
});

it("skips what a store does not offer and its contract leaves optional", async () => {
  const code = "export const open = () => ({ append: async () => {}, load: async () => null });";
  const { results } = await claudeAgentSdk({ module: store(code) }).run({ groups: ["retention"] });
  expect(results.length).toBeGreaterThan(0);
  const reasons = results.filter(({ status }) => status === "skipped").map(({ reason }) => reason);
  expect(reasons).toContain("the store has no delete, which is optional");
});

it("keeps the result when wiping fails or does not end", async () => {
  expect(await run(store("export const wipe = () => { throw new Error('no wipe'); };"))).toEqual([
    { status: "passed" },
  ]);
  expect(await run(store("export const wipe = () => Promise.reject(new Error('no wipe'));"))).toEqual([
    { status: "passed" },
  ]);
});

it.each([
  ["postgres://user:secret@host/db?schema=s{n}", "postgres://user:***@host/db?schema=s{n}"],
  ["postgres://u:se@cret@h/{n}", "postgres://u:***@h/{n}"],
  ["postgres://u:se/cret@h/{n}", "postgres://u:***@h/{n}"],
  ["postgres://h/{n}?user=u&password=secret", "postgres://h/{n}?user=u&password=***"],
  ["libsql://h/{n}?authToken=secret", "libsql://h/{n}?authToken=***"],
])("keeps what is secret in %s out of reports", async (target, shown) => {
  const telling = "export const open = ({ target }) => { throw new Error('cannot connect to ' + target); };";
  const report = await langgraphStore({ module: store(telling), target }).run({ only: [id] });
  expect(report.target).toBe(shown);
  expect(report.results[0]!.message).toMatch(/^Error: cannot connect to /);
  expect(JSON.stringify(report)).not.toMatch(/secret|cret@/);
});

it("refuses what it does not know", async () => {
  const refused = (code: string, options = {}) => langgraphStore({ module: store(code) }).run(options);
  await expect(refused("export const open = 1;")).rejects.toThrow(/exports no function open/);
  await expect(refused("export const skip = { none: 'x' };")).rejects.toThrow(
    /names no expectation and no group: none/,
  );
  await expect(refused("export const expectFail = { kill: 'x' };")).rejects.toThrow(/names no expectation: kill/);
  await expect(refused("", { only: ["none"] })).rejects.toThrow(/there is no expectation none/);
  await expect(refused("", { only: [id], groups: ["kill"] })).rejects.toThrow(/no expectation has the wanted/);
  await expect(langgraphStore({ module: join(folder(), "none.mjs") }).run()).rejects.toThrow(/Cannot find module/);
});

it("chooses by group, level and id, and gives each run a seed", async () => {
  const suite = langgraphStore({
    module: store("export const open = () => ({});"),
    target: "postgres://user:secret@host/db?schema={n}&dir={dir}",
  });
  const broken = await suite.run({ groups: ["order"], levels: ["MUST"], seed: 7 });
  expect(broken.results.length).toBeGreaterThan(0);
  for (const { group, level } of broken.results) expect([group, level]).toEqual(["order", "MUST"]);
  expect(broken).toMatchObject({ contract, seed: 7, suite: "0.1.0", store: { name: "reference" } });
  expect(broken.target).toBe("postgres://user:***@host/db?schema={n}&dir={dir}");
});

it("tells each result when it is there", async () => {
  const seen: unknown[] = [];
  const onResult = (result: { id: string }, done: number, of: number) => seen.push([result.id, done, of]);
  await langgraphStore({ module: store() }).run({ only: [other, id], onResult });
  expect(seen).toEqual([
    [id, 1, 2],
    [other, 2, 2],
  ]);
});

it("shows reports, alone and side by side", async () => {
  const good = await langgraphStore({ module: store() }).run({ only: [id, other] });
  const version = 'export const name = "a | b"; export const version = "1.2.3";';
  const bad = await langgraphStore({ module: store(version, id) }).run({ only: [id, other] });
  expect(counts(bad)).toEqual({
    MUST: { met: 1, of: 2, skipped: 0 },
    SHOULD: { met: 0, of: 0, skipped: 0 },
    OURS: { met: 0, of: 0, skipped: 0 },
  });
  const shown = markdown(bad);
  expect(shown).toContain("# a | b 1.2.3: langgraph-store");
  expect(shown).toContain("| met | 1 of 2 | 0 of 0 | 0 of 0 | - |");
  expect(shown).toMatch(new RegExp(`\\| MUST \\| \`${id}\` \\| .* \\| \\*\\*no\\*\\*: AssertionError: .* \\|`));
  const both = compare([good, bad]);
  expect(both).toContain("|  | reference | a \\| b 1.2.3 |");
  expect(both).toContain("| MUST | 2 of 2 | 1 of 2 |");
  expect(both).toMatch(new RegExp(`\`${id}\` \\| .* \\| yes \\| \\*\\*no\\*\\* \\|`));
  expect(both).not.toContain(other);
  expect(both).toMatch(new RegExp(`## a . b 1\\.2\\.3\\n[^]*\\n- MUST \`${id}\`: AssertionError: `));
  const skipping = await langgraphStore({ module: store(`export const skip = { "${id}": "not for it" };`) }).run({
    only: [id],
  });
  expect(markdown(skipping)).toContain("| met | 0 of 0, 1 skipped |");
  expect(() => compare([good, { ...bad, contract: "mastra" }])).toThrow(/one contract/);
});
