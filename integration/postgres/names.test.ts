// The name server does not answer. No call, no close() and no end of a process waits for it: each ends long before the lookup
// does. The defect waited for each lookup.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TestContext, expect, it } from "vitest";
import { onServer, type Server } from "./faults.js";

const script = fileURLToPath(new URL("fixtures/names.sh", import.meta.url));
const program = fileURLToPath(new URL("fixtures/names.mjs", import.meta.url));

/** How long a lookup takes, at most 30 s for the C library. Half of it is five times the busy timeout of the calls. */
const STALL_MS = 30_000;
const LIMIT_MS = STALL_MS / 2;

/** Starts a program with its own network and its own view of the file system, so that it has its own name server. */
const alone = [
  ["unshare", "-mn"],
  ["unshare", "-rmn"],
  ["sudo", "-n", "--preserve-env=STALL_MS", "unshare", "-mn"],
].find(([command, ...args]) => spawnSync(command!, [...args, "ip", "link", "set", "lo", "up"]).status === 0);
if (alone === undefined) {
  if (process.env["CI"] && process.platform === "linux") throw new Error("unshare(1) or ip(8) does not work here");
  console.warn("SKIPPED: unshare(1) or ip(8) does not work here, so no name server can be silent");
}

/** What the program prints for a call: the code of its error or "done". */
interface Said {
  what: string;
  code?: string;
  took?: number;
}

/** Runs a part of the program until it ends. The server's socket is in the program's folder. */
async function run(ending: string, server: Server, { onTestFinished }: TestContext, stallMs = STALL_MS) {
  const folder = mkdtempSync(join(tmpdir(), "names-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "hosts"), "");
  writeFileSync(join(folder, "resolv.conf"), `nameserver 127.0.0.1\noptions timeout:${stallMs / 1000} attempts:1\n`);
  writeFileSync(join(folder, "nsswitch.conf"), "hosts: files dns\n");
  const relay = createServer((client) => {
    const upstream = connect(server.port, "127.0.0.1");
    const pass = (from: Socket, to: Socket) => from.on("error", () => to.destroy()).pipe(to);
    pass(client, upstream);
    pass(upstream, client);
  }).listen(join(folder, ".s.PGSQL.5432"));
  onTestFinished(() => void relay.close());
  const [command, ...args] = [...alone!, "sh", script, folder, process.execPath, program, ending, folder];
  const child = spawn(command!, args, { env: { ...process.env, NODE_OPTIONS: "", STALL_MS: `${stallMs}` } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const begun = performance.now();
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code, errors).toBe(0);
  const said = out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Said);
  return { said, errors, took: performance.now() - begun };
}

/** The calls and their outcomes. No call may have waited for the lookup. */
function outcomes(said: Said[]) {
  for (const { what, took = 0 } of said) expect(took, what).toBeLessThan(LIMIT_MS);
  return Object.fromEntries(said.map(({ what, code }) => [what, code]));
}

onServer("newest", (server) => {
  const test = alone === undefined ? it.skip : it.concurrent;

  test("the first calls reject together", { timeout: 120_000 }, async (context) => {
    const { said } = await run("the first calls", server(), context);
    expect(outcomes(said)).toEqual({
      save: "UNAVAILABLE",
      get: "UNAVAILABLE",
      prune: "UNAVAILABLE",
      "later save": "UNAVAILABLE",
      close: "done",
    });
  });

  test("close() while the first call waits", { timeout: 120_000 }, async (context) => {
    const { said } = await run("close() while the first call waits", server(), context);
    expect(outcomes(said)).toEqual({ save: "UNAVAILABLE", close: "done" });
  });

  test("process.exit() while the first calls wait", { timeout: 120_000 }, async (context) => {
    const { said, errors, took } = await run("process.exit() while the first calls wait", server(), context);
    expect(said).toEqual([{ what: "exit" }]);
    expect(took).toBeLessThan(LIMIT_MS);
    // Opening is a call too.
    expect(errors).toMatch(/^forkpoint: 4 calls failed while the process ended: UNAVAILABLE/m);
  });

  test("a reconnect", { timeout: 120_000 }, async (context) => {
    const { said } = await run("a reconnect", server(), context);
    expect(outcomes(said)).toEqual({ "first save": "done", save: "UNAVAILABLE", close: "done" });
  });

  test("a host that is not found leaves time for the next one", { timeout: 120_000 }, async (context) => {
    const { said } = await run("a failover", server(), context);
    expect(outcomes(said)).toEqual({ save: "done", close: "done" });
  });

  // The lookup's thread ends after the worker.
  test("a worker that is terminated", { timeout: 120_000 }, async (context) => {
    const stallMs = 6_000;
    const { said } = await run("a worker that is terminated", server(), context, stallMs);
    expect(said.map(({ what }) => what)).toEqual(["terminate", "alive"]);
    expect(said[0]!.took).toBeLessThan(stallMs - 1_000);
  });
});
