/** Leases, resumed workflows, copies and watches over a database that goes back in time. */

import { setTimeout as sleep } from "node:timers/promises";
import { type CopyProgress, copyStore, type Store, openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { type StoreEvent, openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { rejection } from "../helpers.js";
import type { Machine } from "./time.js";

interface Place {
  target: string;
  machine: Machine;
}

const step = (run: string, n: number, text = "") => ({
  id: `${run}:step-${n + 1}`,
  runId: run,
  stepIndex: n,
  stepName: "step",
  state: { run, n, text },
  createdAt: n,
});

async function opened(target: string): Promise<Store> {
  // A server that is stopped loses what was saved with less.
  const store = await openStore(target, { durability: target.startsWith("postgres:") ? "full" : "off" });
  onTestFinished(() => store.close());
  return store;
}

const runsOf = async (target: string) => new WorkflowCheckpointStore<{}>(await opened(target));

/** All checkpoints of all runs, as a new store reads them. */
async function everything(target: string): Promise<object[]> {
  const store = await openStore(target);
  const runs = new WorkflowCheckpointStore<{}>(store);
  const found: object[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await runs.runs({ limit: 200, cursor });
    for (const { runId } of page.runs) found.push(...(await runs.list(runId)));
    cursor = page.cursor;
    if (cursor === null) break;
  }
  await store.close();
  return found.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/**
 * @param place makes an empty place for a database that goes back.
 * @param once true if a copy of the database can be put back only once.
 */
export function callsOverTime(place: () => Promise<Place> | Place, once = false): void {
  it("a lease that was taken after the copy is lost", async () => {
    const { target, machine } = await place();
    const [mine, others] = [await runsOf(target), await runsOf(target)];
    await mine.save(step("run", 0));
    let lost = 0;
    for (const { name } of machine.ways) {
      await machine.snapshot();
      const lease = await mine.lease({ space: "agentium", run: "run" });
      await mine.withLease(lease).save(step(`leased ${name}`, 0));
      await machine.goBack(name);
      const fenced = async (n: number) => {
        const error = await rejection(mine.withLease(lease).save(step(`fenced ${name}`, n)));
        expect(error, name).toMatchObject({ code: "CONFLICT" });
      };
      // Not only the first call, which may notice what happened, is refused.
      for (const n of [0, 1, 2]) await fenced(n);
      const taken = await others.lease({ space: "agentium", run: "run" });
      await others.withLease(taken).save(step(`taken ${name}`, 0));
      await fenced(3);
      for (const store of [mine, others, await runsOf(target)]) {
        expect(await store.list(`fenced ${name}`), name).toEqual([]);
        expect(await store.list(`leased ${name}`), name).toEqual([]);
        expect(await store.list(`taken ${name}`), name).toEqual([step(`taken ${name}`, 0)]);
      }
      await lease.release().catch(() => {});
      await others.withLease(taken).save(step(`taken ${name}`, 1));
      await taken.release();
      lost += 1;
    }
    expect(lost).toBe(machine.ways.length);
  });

  it("a run that was interrupted before the copy is resumed once after it", async () => {
    const { target, machine } = await place();
    const calls: string[] = [];
    let fails = true;
    const make = (checkpointStore: WorkflowCheckpointStore<any>) =>
      new Workflow<{ n: number }>({
        name: "count",
        initialState: { n: 0 },
        checkpointStore,
        lease: true,
        steps: ["one", "two", "three"].map((name, at) => ({
          name,
          run: async () => {
            if (at === 1 && fails) throw new Error("interrupted");
            calls.push(name);
            return { n: at + 1 };
          },
        })),
      });
    const flows = [make(await runsOf(target)), make(await runsOf(target))];
    let resumed = 0;
    for (const { name } of machine.ways) {
      const runId = `run ${name}`;
      fails = true;
      await rejection(flows[0]!.runWithCheckpoints({ runId }));
      await machine.snapshot();
      fails = false;
      calls.length = 0;
      await flows[1]!.runWithCheckpoints({ runId, resume: true });
      expect(calls, name).toEqual(["two", "three"]);
      await machine.goBack(name);
      calls.length = 0;
      // One of the two works on the run. The other one is refused, or finds it finished.
      const both = await Promise.allSettled(flows.map((flow) => flow.runWithCheckpoints({ runId, resume: true })));
      const states = both.flatMap((one) => (one.status === "fulfilled" ? [one.value.state] : []));
      const codes = both.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
      expect(states.length, name).toBeGreaterThan(0);
      expect([...states, ...codes.map(() => ({ n: 3 }))], name).toEqual([{ n: 3 }, { n: 3 }]);
      expect(new Set([...codes, "CONFLICT"]), name).toEqual(new Set(["CONFLICT"]));
      expect(calls, name).toEqual(["two", "three"]);
      for (const flow of flows) await flow.runWithCheckpoints({ runId, resume: true });
      expect(calls, name).toEqual(["two", "three"]);
      resumed += 1;
    }
    expect(resumed).toBe(machine.ways.length);
  });

  // The copy of the destination is put back twice.
  it.each(once ? (["source"] as const) : (["source", "destination"] as const))(
    "a copy whose %s goes back ends equal, or says what happened",
    async (which) => {
      const outcomes: string[] = [];
      const moments = ["copying middle", "verifying first", "verifying middle", "verifying last"] as const;
      for (const moment of moments) {
        const [rewound, other] = [await place(), await place()];
        const [source, destination] = which === "source" ? [rewound, other] : [other, rewound];
        const runs = await runsOf(source.target);
        // The copy to a destination that goes back takes several pages, so that the destination goes back to a part of it.
        const times = which === "source" ? 10 : 8_000;
        const save = (run: string, era: string) =>
          Promise.all([0, 1, 2].map((n) => runs.save(step(run, n, `${era} ${run} ${n} `.repeat(times)))));
        for (let n = 0; n < 60; n++) await save(`run-${n}`, "before");
        const copies = (options: object) => copyStore(source.target, destination.target, options);
        const seen: CopyProgress[] = [];
        const onProgress = (progress: CopyProgress) => void seen.push(progress);
        if (which === "source") {
          await rewound.machine.snapshot();
          for (let n = 40; n < 80; n++) {
            await runs.clear(`run-${n}`);
            await save(`run-${n}`, "after");
          }
          await copyStore(source.target, (await place()).target, { onProgress });
        } else {
          const stop = new AbortController();
          const begin = (progress: CopyProgress) => progress.checkpoints > 0 && stop.abort();
          await rejection(copies({ onProgress: begin, signal: stop.signal }));
          await rewound.machine.snapshot();
          await copies({ onProgress });
          rewound.machine.goBackNow();
        }
        // The last progress tells that the copy has ended.
        const [phase, when] = moment.split(" ") as ["copying" | "verifying", "first" | "middle" | "last"];
        const places = seen.slice(0, -1).flatMap((progress, at) => (progress.phase === phase ? [at] : []));
        expect(places.length, moment).toBeGreaterThan(2);
        const at = { first: places[0]!, middle: places[places.length >> 1]!, last: places.at(-1)! }[when];
        let looks = 0;
        let backs = 0;
        const back = () => {
          if (looks++ !== at) return;
          backs += 1;
          rewound.machine.goBackNow();
        };
        const [done] = await Promise.allSettled([copies({ onProgress: back })]);
        expect(backs).toBe(1);
        const isEqual =
          JSON.stringify(await everything(source.target)) === JSON.stringify(await everything(destination.target));
        if (done!.status === "fulfilled") expect(isEqual, moment).toBe(true);
        else expect(done!.reason, moment).toMatchObject({ code: expect.any(String) });
        outcomes.push(`${moment}: ${done!.status === "fulfilled" ? "equal" : done!.reason.message}`);
      }
      expect(outcomes).toHaveLength(moments.length);
    },
  );

  it("a watch shows every save after the database went back", async () => {
    const { target, machine } = await place();
    const runs = await runsOf(target);
    for (let n = 0; n < 5; n++) await runs.save(step("old", n));
    const inspector = await openInspector(target);
    onTestFinished(() => inspector.close());
    const seen: StoreEvent[] = [];
    const stop = new AbortController();
    // The files of a folder are replaced one after the other. A watch that looks at the folder meanwhile rejects, so it pauses.
    let pause = { at: "", end: Promise.resolve() };
    const watching = (async () => {
      for await (const event of inspector.watch({ signal: stop.signal, last: 1 })) {
        seen.push(event);
        if (event.type === "saved" && event.checkpoint.id === pause.at) await pause.end;
      }
    })();
    const shown = () => seen.flatMap((event) => (event.type === "saved" ? [event.checkpoint.id] : []));
    const until = async (so: () => boolean) => {
      const ended = () => Promise.reject(new Error("the watch has ended"));
      while (!so()) await Promise.race([sleep(5), watching.then(ended)]);
    };
    await until(() => shown().length === 1);
    let backs = 0;
    for (const { name, atomic } of machine.ways) {
      // Before the next save, the watch sees that the database went back. Or it sees both at once, and greater numbers.
      for (const [count, isSlow] of [
        [2, true],
        [6, false],
      ] as const) {
        await machine.snapshot();
        let goOn = () => {};
        if (!atomic) pause = { at: `gone ${backs}:step-4`, end: new Promise((resolve) => (goOn = resolve)) };
        for (let n = 0; n < 4; n++) await runs.save(step(`gone ${backs}`, n));
        await until(() => shown().includes(`gone ${backs}:step-4`));
        await machine.goBack(name);
        goOn();
        const before = seen.length;
        if (isSlow) await until(() => seen.slice(before - 1).some(({ type }) => type === "changed"));
        for (let n = 0; n < count; n++) await runs.save(step(`new ${backs}`, n));
        const wanted = Array.from({ length: count }, (_, n) => `new ${backs}:step-${n + 1}`);
        await until(() => shown().includes(wanted.at(-1)!));
        expect(
          shown().filter((id) => id.startsWith(`new ${backs}:`)),
          `${name} ${count}`,
        ).toEqual(wanted);
        const from = seen.findIndex(
          (event) => event.type === "saved" && event.checkpoint.id === `gone ${backs}:step-4`,
        );
        const to = seen.findIndex((event) => event.type === "saved" && event.checkpoint.id === wanted[0]);
        expect(
          seen.slice(from, to).map(({ type }) => type),
          name,
        ).toContain("changed");
        backs += 1;
      }
    }
    stop.abort();
    await watching;
    expect(backs).toBe(2 * machine.ways.length);
  });
}
