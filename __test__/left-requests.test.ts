// Requests about a leased run that processes have left behind: they stop nobody but the holder that they name, and do not stay.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { Worker } from "./exclusive-worker.js";
// @ts-expect-error: a program without types
import { leaseReader } from "./fixtures/killed.mjs";
import { closing, place, sharedKinds, windows } from "./helpers.js";

const root = new URL("../", import.meta.url);
const of = { space: "agentos", run: "run" };

describe.each(sharedKinds)("on %s", (kind) => {
  const start = () => {
    const target = place(kind);
    return { worker: () => new Worker(target), reader: () => closing(leaseReader(root, target)) };
  };

  /** Another process makes a call about the run whose holder sleeps, and is killed when its request is stored. */
  async function leave(what: "stop" | "interrupt") {
    const { worker, reader } = start();
    const [holder, killed] = [worker(), worker()];
    await holder.works("a", "run");
    const leases = reader();
    holder.program.kill("SIGSTOP");
    if (what === "stop") killed.tell("stop", { name: "stop", run: "run", options: { by: "Ana" } });
    else killed.tell("append", { name: "b", run: "run", options: { whenBusy: what, by: "Ana" } });
    while ((await leases.requests(of)).length === 0);
    killed.program.kill();
    await killed.program.ended;
    holder.program.kill("SIGCONT");
    return { holder, leases, worker };
  }

  it.skipIf(windows)("a killed process that has asked for a stop stops the holder", async () => {
    const { holder, leases } = await leave("stop");
    expect(await holder.says("a")).toMatchObject({ code: "STOPPED", stopped: { kind: "stop", by: "Ana" } });
    expect(await leases.requests(of)).toEqual([]);
  });

  it.skipIf(windows)("a killed process that has interrupted the holder for itself does not", async () => {
    const { holder, leases } = await leave("interrupt");
    // The holder removes it when it looks.
    while ((await leases.requests(of)).length > 0);
    holder.tell("open", { of: "a" });
    expect(await holder.says("a")).toMatchObject({ log: ["a begins", "a ends"] });
  });

  it("a process of another machine stops the lease that it names, and not the next one", async () => {
    const { worker, reader } = start();
    const [first, next] = [worker(), worker()];
    await first.works("a", "run");
    const leases = reader();
    const { id: lease, savedAt } = await leases.lease(of);
    first.tell("open", { of: "a" });
    await first.says("a");
    await next.works("b", "run");
    const asked = { ttl: 60_000, by: null, reason: null };
    const elsewhere = { ...asked, what: "stop", holder: "process 1 on another machine", lease };
    await leases.ask(of, "stop", elsewhere, savedAt);
    const { holder } = await leases.lease(of);
    const ended = { ...asked, what: "enqueue", holder: holder.replace(/\d+/, "4194304"), lease: null };
    await leases.ask(of, "left", ended, savedAt);
    // The holder has looked when it has removed the request of the process that has ended.
    const left = async () => (await leases.requests(of)).map(({ id }: { id: string }) => id);
    while ((await left()).length > 1);
    expect(await left()).toEqual(["stop"]);
    next.tell("open", { of: "b" });
    expect(await next.says("b")).toMatchObject({ log: ["a begins", "a ends", "b begins", "b ends"] });
  });

  it("the request of a killed process for a run that nobody takes again does not stay", async () => {
    const { worker, reader } = start();
    const [holder, waits] = [worker(), worker()];
    await holder.works("a", "run");
    const leases = reader();
    waits.tell("append", { name: "b", run: "run", options: { whenBusy: "enqueue" } });
    while ((await leases.requests(of)).length === 0);
    // Both are killed. Nobody works on this run again.
    for (const { program } of [waits, holder]) {
      program.kill();
      await program.ended;
    }
    await worker().works("c", "another run");
    while ((await leases.requests(of)).length > 0);
    expect(await leases.lease(of)).toMatchObject({ from: "" });
  });
});
