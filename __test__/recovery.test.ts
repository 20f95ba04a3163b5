// Tests the part of recover() that all frameworks share: the pause, the release of the lease, and what a lost lease leaves.
import { createRequire } from "node:module";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Lease } from "../ts/store/lease.js";
import type { Settings } from "../ts/contracts/shared/recover-options.js";
import { kinds, place } from "./helpers.js";

// The modules of one build, because a lease of another build is not an instance of this build's class.
const load = createRequire(new URL("../dist/index.js", import.meta.url));
const { StoreHandle } = load("./inner/store/handle.js") as typeof import("../ts/store/handle.js");
const { settingsOf } = load(
  "./inner/contracts/shared/recover-options.js",
) as typeof import("../ts/contracts/shared/recover-options.js");
const { recoverAll, underLease } = load(
  "./inner/contracts/shared/recover-runs.js",
) as typeof import("../ts/contracts/shared/recover-runs.js");
const { engineOf, openStore } = load("./inner/store/store.js") as typeof import("../ts/store/store.js");

const timers = load("node:timers/promises") as typeof import("node:timers/promises");

const settings = (options: object = {}): Settings => settingsOf(options);
const of = { space: "agentos", run: "run", ns: "" };

async function* ids(...runs: string[]): AsyncGenerator<string> {
  yield* runs;
}

describe.each(kinds)("%s", (kind) => {
  async function open() {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    return { store, handle: new StoreHandle(store, undefined, { name: "agentos" }) };
  }

  it("a clock of this process that is ahead does not shorten the pause", async () => {
    const { store, handle } = await open();
    const lease = await store.lease({ space: "agentos", run: "run" });
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 40_000);
    onTestFinished(() => clock.mockRestore());
    const waits: number[] = [];
    const pause = vi
      .spyOn(timers, "setTimeout")
      .mockImplementation((async (ms: number) => void waits.push(ms)) as never);
    onTestFinished(() => pause.mockRestore());
    // Each round asks for the newest checkpoint. The third round finds the run finished.
    let rounds = 0;
    const newest = async () => (++rounds < 3 ? { newest: "checkpoint" } : null);
    const ended = await underLease({ handle, noun: "run" }, of, settings(), newest, () =>
      Promise.reject(new Error("never")),
    );
    expect(ended).toEqual({ outcome: "elsewhere", holder: lease.holder });
    expect(rounds).toBe(3);
    expect(waits).toEqual([50, 100]);
  });

  it("the outcome is that of the work, also if the lease cannot be released", async () => {
    const { handle } = await open();
    const work = (how: () => Promise<{ outcome: string }>) => async (lease: Lease) => {
      const release = lease.release.bind(lease);
      lease.release = () => release().then(() => Promise.reject(new Error("no space left on the device")));
      return how();
    };
    const newest = async () => ({ newest: "checkpoint" });
    const finished = work(async () => ({ outcome: "finished" }));
    expect(await underLease({ handle, noun: "run" }, of, settings(), newest, finished)).toEqual({
      outcome: "finished",
    });
    const error = new Error("the tool failed");
    const failed = work(() => Promise.reject(error));
    expect(await underLease({ handle, noun: "run" }, of, settings(), newest, failed)).toEqual({
      outcome: "error",
      error,
    });
  });

  it("a lease that was lost is no longer among the leases of the store", async () => {
    const { store, handle } = await open();
    const { leases } = engineOf(store as never);
    const lease = await handle.leaseOf(of, { ttlMs: 100 });
    expect([...leases]).toEqual([lease]);
    const lost = new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
    // The event loop stands still for longer than the lease lasts.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await lost;
    expect(leases.size).toBe(0);
  });
});

it.each([
  [
    "throws",
    () => {
      throw new Error("no logger");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no logger"))],
])("a callback that %s does not hide what became of the runs", async (_, callback) => {
  const warnings: Error[] = [];
  const listen = (warning: Error) => void warnings.push(warning);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const report = await recoverAll(ids("a", "b", "c"), settings({ onRecovered: callback }), async (run) => [run]);
  expect(report).toEqual({ runs: ["a", "b", "c"], checked: 3 });
  await vi.waitFor(() => expect(warnings).toHaveLength(3));
  expect(warnings[0]).toMatchObject({
    name: "ForkpointWarning",
    message: expect.stringContaining("onRecovered threw"),
  });
  expect(warnings[0]!.cause).toMatchObject({ message: "no logger" });
});
