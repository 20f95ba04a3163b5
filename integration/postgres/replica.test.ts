// A standby that only answers reads: a store with readOnly, the inspector, the command line and a copy read from it.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { type Server, inMemory, startServer } from "./server.mjs";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
let primary: Server;
let replica: Server;
let writing: CheckpointStore;

const save = (n: number) => writing.save(checkpoint({ id: `c${n}`, runId: "run", timestamp: n }));
const ids = async (store: CheckpointStore) => (await store.listByRun("run")).map(({ id }) => id);

beforeAll(async () => {
  primary = (await startServer({ version: "newest", ...inMemory }))!;
  replica = await primary.replica();
  writing = new CheckpointStore(primary.url());
  for (const n of [1, 2]) await save(n);
  // The replica gets the tables a moment later.
  const sees = async () => {
    await using store = await openStore(replica.url(), { readOnly: true });
    expect(await ids(new CheckpointStore(store))).toContain("c2");
  };
  await vi.waitFor(sees, 30_000);
}, 120_000);

afterAll(async () => {
  await writing?.close();
  await replica?.stop();
  await primary?.stop();
});

it("is read by a store with readOnly, which sees later saves", async () => {
  for (const query of ["", "?target_session_attrs=any", "?target_session_attrs=read-only"]) {
    await using store = await openStore(replica.url({ query }), { readOnly: true });
    const reading = new CheckpointStore(store);
    await expect.poll(() => ids(reading)).toContain("c2");
    expect((await store.check()).ok).toBe(true);
    expect((await store.stats()).checkpoints).toBeGreaterThan(1);
    await expect(reading.save(checkpoint({ id: "x", runId: "run" }))).rejects.toMatchObject({ code: "UNSUPPORTED" });
  }
  await using store = await openStore(replica.url(), { readOnly: true });
  await save(3);
  await expect.poll(() => ids(new CheckpointStore(store))).toEqual(["c3", "c2", "c1"]);
});

it("is read by the inspector and by the command line", async () => {
  await using inspector = await openInspector(replica.url());
  await expect.poll(async () => (await inspector.runs()).items.map(({ run }) => run)).toEqual(["run"]);
  for (const command of [["ls"], ["show", "run"], ["verify"]]) {
    const env = { ...process.env, FORKPOINT_URL: replica.url() };
    const { status, stderr } = spawnSync(process.execPath, [cli, ...command], { encoding: "utf8", env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }
});

it("is copied", async () => {
  await using source = await openStore(replica.url(), { readOnly: true });
  await using copy = await openStore("memory:");
  const { checkpoints } = await copyStore(source, copy);
  expect(checkpoints).toBe((await ids(writing)).length);
});

it("is no place for a store that writes", async () => {
  const open = (query: string) => openStore(replica.url({ query }), { busyTimeoutMs: 300 });
  await expect(open("")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  await expect(open("?target_session_attrs=read-only")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("readOnly") as string,
  });
});

it("is passed over in a list of hosts, unless the URL asks for it", async () => {
  const url = (query: string) =>
    `postgres://postgres@127.0.0.1:${replica.port},127.0.0.1:${primary.port}/postgres?sslmode=disable${query}`;
  const recovering = async (query: string) => {
    await using store = await openStore(url(`&application_name=who${query}`), { readOnly: true });
    await store.stats();
    const who = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'who%'";
    return [(await replica.query(who)).length > 0, (await primary.query(who)).length > 0];
  };
  expect(await recovering("")).toEqual([false, true]);
  expect(await recovering("&target_session_attrs=read-only")).toEqual([true, false]);
});
