// A full disk: of the tables, and of everything that the server writes.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CheckpointStore } from "forkpoint";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { answering, emptyUrl, long, onServer, startServer } from "./faults.js";

/** Runs a command as root. Returns its errors, or undefined if it succeeded. */
function asRoot(...command: string[]): string | undefined {
  const [program, ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
  const { status, stderr, error } = spawnSync(program!, args, { encoding: "utf8" });
  return status === 0 ? undefined : `${error ?? stderr}`;
}

/**
 * Makes a small disk in memory for the running test. Undefined: this process may not mount one. A container often forbids
 * it, and nothing that can be installed changes that, so the test is skipped in CI too.
 */
function smallDisk(size: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "small-"));
  const failed = asRoot("mount", "-t", "tmpfs", "-o", `size=${size},mode=1777`, "tmpfs", folder);
  onTestFinished(() => {
    if (failed === undefined) asRoot("umount", "--lazy", folder);
    rmSync(folder, { recursive: true, force: true });
  });
  if (failed === undefined) return folder;
  console.warn(`SKIPPED: no disk can be mounted: ${failed}`);
  return undefined;
}

/** A checkpoint of random bytes, which cannot be stored smaller. */
const large = (n: number) =>
  checkpoint({
    id: `${n}`,
    runId: `run-${n % 3}`,
    timestamp: n,
    state: { input: {}, scratch: randomBytes(100_000).toString("latin1"), artifacts: {}, diagnostics: {} as any },
  });

/** Saves until a save fails. Returns what was acknowledged, and the error. */
async function fill(store: CheckpointStore, limit = 2_000) {
  const acknowledged: ReturnType<typeof large>[] = [];
  for (let n = 0; n < limit; n++) {
    const one = large(n);
    try {
      await store.save(one);
    } catch (error: any) {
      return { acknowledged, error };
    }
    acknowledged.push(one);
  }
  throw new Error("the disk was never full");
}

async function expectThere(store: CheckpointStore, acknowledged: ReturnType<typeof large>[]): Promise<void> {
  for (const one of acknowledged) expect(await store.get(one.id)).toEqual(one);
  const { ok, findings } = await store.check();
  expect({ ok, findings }).toEqual({ ok: true, findings: [] });
}

onServer("newest", (server) => {
  it("the disk of the tables is full", { timeout: 120_000 }, async (test) => {
    const disk = smallDisk("48m");
    if (disk === undefined) return test.skip();
    const ballast = join(disk, "ballast");
    writeFileSync(ballast, Buffer.alloc(6 << 20));
    const place = join(disk, "tables");
    mkdirSync(place, { mode: 0o700 });
    const { uid, gid } = statSync(server().data);
    if (asRoot("chown", `${uid}:${gid}`, place) !== undefined) throw new Error("chown failed");
    const name = `small_${process.pid}`;
    await server().query(`CREATE TABLESPACE ${name} LOCATION '${place}'`);
    onTestFinished(async () => void (await server().query(`DROP TABLESPACE ${name}`)));
    const url = await emptyUrl(server(), { options: `TABLESPACE ${name}` });

    const store = new CheckpointStore(url, { cacheBytes: 0 });
    onTestFinished(() => store.close());
    const { acknowledged, error } = await fill(store);
    expect({ code: error.code, retryable: error.retryable, outcome: error.outcome }).toEqual({
      code: "FULL",
      retryable: false,
      outcome: undefined,
    });
    expect(acknowledged.length).toBeGreaterThan(20);
    await expectThere(store, acknowledged);
    expect((await store.stats()).checkpoints).toBe(acknowledged.length);
    // A removal needs hardly any room, and a save has room when somebody makes some.
    rmSync(ballast);
    const next = large(acknowledged.length);
    await store.save(next);
    await store.delete("0");
    await expectThere(store, [...acknowledged.slice(1), next]);
    expect(await store.get("0")).toBeNull();
  });
});

it("the disk of the whole server is full", { timeout: 180_000 }, async (test) => {
  const disk = smallDisk("120m");
  if (disk === undefined) return test.skip();
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(24 << 20));
  // The log of changes takes half of the disk. The server ends when it cannot write the log.
  const settings = { min_wal_size: "32MB", max_wal_size: "32MB" };
  const server = await startServer({ version: long ? "newest" : "oldest", folder: disk, settings, sync: true });
  if (server === undefined) return test.skip();
  onTestFinished(() => server.stop());
  const store = new CheckpointStore(server.url(), { cacheBytes: 0, busyTimeoutMs: 2_000 });
  onTestFinished(() => store.close());
  const { acknowledged, error } = await fill(store);
  expect(["FULL", "UNAVAILABLE"]).toContain(error.code);
  expect(error.retryable).toBe(error.code === "UNAVAILABLE");
  expect(acknowledged.length).toBeGreaterThan(10);
  rmSync(ballast);
  if (!(await server.query("SELECT 1").catch(() => undefined))) {
    await server.halt();
    await server.start();
  }
  await answering(server);
  const next = large(acknowledged.length);
  await store.save(next);
  await expectThere(store, [...acknowledged, next]);
});
