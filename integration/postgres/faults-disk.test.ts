// A full disk: of the tables, and of everything that the server writes.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CheckpointStore } from "forkpoint";
import { expect, it, onTestFinished, vi } from "vitest";
import { checkpoint, open } from "../../__test__/helpers.js";
import { answering, emptyUrl, inMemory, long, startServer } from "./faults.js";

/** The variables with which a program has this folder as its small disk. */
type Disk = Record<"LD_PRELOAD" | "FORKPOINT_DISK" | "FORKPOINT_DISK_BYTES", string>;

/**
 * Makes a small disk for the running test. Undefined: this machine cannot have one, and the test is skipped. In CI, that is
 * an error.
 */
function smallDisk(bytes: number): Disk | undefined {
  const home = mkdtempSync(join(tmpdir(), "small-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [disk, library] = [join(home, "disk"), join(home, "small-disk.so")];
  mkdirSync(disk);
  // The server may run as another user.
  chmodSync(home, 0o755);
  chmodSync(disk, 0o777);
  const command = ["-O2", "-shared", "-fPIC", "-o", library, fileURLToPath(new URL("small-disk.c", import.meta.url))];
  const { status, stderr, error } = spawnSync("cc", command, { encoding: "utf8" });
  if (status === 0) return { LD_PRELOAD: library, FORKPOINT_DISK: disk, FORKPOINT_DISK_BYTES: `${bytes}` };
  const why = `no small disk can be made on ${process.platform}: ${error ?? stderr}`;
  if (process.env["CI"]) throw new Error(why);
  console.warn(`\n${"*".repeat(80)}\n* SKIPPED: the tests of a full disk. ${why}\n${"*".repeat(80)}\n`);
  return undefined;
}

/** Starts a server that has this disk, until the running test ends. */
async function serverWith(env: Disk, options: Parameters<typeof startServer>[0]) {
  const server = await startServer({ ...options, env });
  if (server !== undefined) onTestFinished(() => server.stop());
  return server;
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

it.for(long ? (["oldest", "newest"] as const) : (["newest"] as const))(
  "the disk of the tables is full, on the %s Postgres",
  { timeout: 120_000 },
  async (version, test) => {
    const disk = smallDisk(48 << 20);
    const server = disk && (await serverWith(disk, { version, ...inMemory }));
    if (disk === undefined || server === undefined) return test.skip();
    const ballast = join(disk.FORKPOINT_DISK, "ballast");
    writeFileSync(ballast, Buffer.alloc(6 << 20));
    const place = join(disk.FORKPOINT_DISK, "tables");
    mkdirSync(place, { mode: 0o700 });
    const { uid, gid } = statSync(server.data);
    chownSync(place, uid, gid);
    await server.query(`CREATE TABLESPACE small LOCATION '${place}'`);
    const url = await emptyUrl(server, { options: "TABLESPACE small" });

    const store = open(url, { cacheBytes: 0 });
    const { acknowledged, error } = await fill(store);
    expect({ code: error.code, retryable: error.retryable, outcome: error.outcome }).toEqual({
      code: "FULL",
      retryable: false,
      outcome: undefined,
    });
    await vi.waitFor(() => expect(server.log).toContain("No space left on device"));
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
  },
);

it.for(long ? (["oldest", "newest"] as const) : (["oldest"] as const))(
  "the disk of the whole server is full, on the %s Postgres",
  { timeout: 180_000 },
  async (version, test) => {
    const disk = smallDisk(120 << 20);
    // The log of changes takes half of the disk. The server ends when it cannot write the log.
    const settings = { min_wal_size: "32MB", max_wal_size: "32MB" };
    const server = disk && (await serverWith(disk, { version, settings, sync: true, folder: disk.FORKPOINT_DISK }));
    if (disk === undefined || server === undefined) return test.skip();
    const ballast = join(disk.FORKPOINT_DISK, "ballast");
    writeFileSync(ballast, Buffer.alloc(24 << 20));
    const store = open(server.url(), { cacheBytes: 0, busyTimeoutMs: 2_000 });
    const { acknowledged, error } = await fill(store);
    expect(["FULL", "UNAVAILABLE"]).toContain(error.code);
    expect(error.retryable).toBe(error.code === "UNAVAILABLE");
    await vi.waitFor(() => expect(server.log).toContain("No space left on device"));
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
  },
);
