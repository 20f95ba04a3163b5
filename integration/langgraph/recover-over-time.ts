/** recover() over a database that goes back in time, with real graphs. */

import { ForkpointSaver, recover } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import type { Machine } from "../../__test__/faults/time.js";
import { Log, open, sequence, thread } from "./helpers.js";

interface Place {
  target: string;
  machine: Machine;
}

// A copy of the database has the leases that were held then. They end soon.
const lease = { ttlMs: 1_000 };
const leaseTtlMs = lease.ttlMs;
const whole = { log: ["one", "two", "three"] };
const sync = (id: string) => ({ ...thread(id), durability: "sync" as const });

/** A graph of three nodes. `act` runs in the second one. */
function chain(checkpointer: ForkpointSaver, ran: string[], act = () => {}) {
  const node = (name: string) => () => {
    ran.push(name);
    if (name === "two") act();
    return { log: [name] };
  };
  return sequence(Log, { one: node("one"), two: node("two"), three: node("three") }).compile({ checkpointer });
}

/** Runs a thread as if the process was killed after the first node. */
async function cutOff(checkpointer: ForkpointSaver, id: string): Promise<void> {
  await chain(checkpointer, []).invoke({ log: [] }, { ...sync(id), interruptAfter: ["one"] as never });
}

/** @param place makes an empty place for a database that goes back. */
export function recoverOverTime(place: () => Promise<Place> | Place): void {
  // A server that is stopped loses what was saved with less.
  const opened = (target: string, rest: object = {}) => open(target, { program: "tests", durability: "full", ...rest });

  it("recover() resumes a thread again that was finished after the copy, and once", { timeout: 120_000 }, async () => {
    const { target, machine } = await place();
    const ran: string[] = [];
    const savers = [opened(target, { lease }), opened(target, { lease })] as const;
    const recoverBoth = () => Promise.all(savers.map((one) => recover(chain(one, ran), one, { leaseTtlMs })));
    // A truncated log brings no file back that was removed, such as that of a lease.
    const ways = machine.ways.filter((way) => way.name !== "truncate");
    let recovered = 0;
    for (const { name } of ways) {
      await cutOff(savers[0], name);
      await machine.snapshot();
      const { runs } = await recover(chain(savers[1], ran), savers[1], { leaseTtlMs });
      expect(runs, name).toEqual([{ threadId: name, outcome: "finished", output: whole }]);
      await machine.goBack(name);
      ran.length = 0;
      const both = (await recoverBoth()).flatMap((report) => report.runs);
      expect(both, name).toContainEqual({ threadId: name, outcome: "finished", output: whole });
      for (const { outcome } of both) expect(["finished", "elsewhere"], name).toContain(outcome);
      expect(
        both.filter(({ outcome }) => outcome === "finished"),
        name,
      ).toHaveLength(1);
      expect(ran, name).toEqual(["two", "three"]);
      for (const report of await recoverBoth()) expect(report.runs, name).toEqual([]);
      const fresh = opened(target);
      expect((await chain(fresh, []).getState(thread(name))).values, name).toEqual(whole);
      recovered += 1;
    }
    expect(recovered).toBe(ways.length);
  });

  it.each(["with", "without"])(
    "the database goes back while recover() runs a node, %s leases: no state is wrong, and the next one ends the thread",
    { timeout: 120_000 },
    async (which) => {
      const { target, machine } = await place();
      const ran: string[] = [];
      const leases = which === "with" ? { lease } : {};
      const [saver, other] = [opened(target, leases), opened(target, leases)];
      await cutOff(saver, "thread");
      await machine.snapshot();
      // The other thread gets the numbers of what is gone.
      await cutOff(saver, "gone");
      let backs = 0;
      const back = () => {
        if (backs > 0) return;
        backs += 1;
        machine.goBackNow();
      };
      const first = await recover(chain(saver, ran, back), saver, { threads: ["thread"], leaseTtlMs });
      expect(backs).toBe(1);
      expect(first.runs).toHaveLength(1);
      expect(["finished", "error"]).toContain(first.runs[0]!.outcome);
      await cutOff(other, "later");
      const ended = [
        await recover(chain(saver, ran), saver, { leaseTtlMs }),
        await recover(chain(other, ran), other, { leaseTtlMs }),
      ];
      for (const { runs } of ended)
        for (const run of runs) expect(run).toMatchObject({ outcome: "finished", output: whole });
      const fresh = opened(target);
      const threads = (await fresh.listThreads()).threads.map(({ threadId, status }) => [threadId, status]);
      expect(threads.toSorted()).toEqual([
        ["later", "finished"],
        ["thread", "finished"],
      ]);
      for (const id of ["later", "thread"]) {
        for (const one of [fresh, saver, other]) {
          expect((await chain(one, []).getState(thread(id))).values, id).toEqual(whole);
        }
      }
      expect((await fresh.check()).findings).toEqual([]);
    },
  );
}
