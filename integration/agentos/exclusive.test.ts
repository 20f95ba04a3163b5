// Scopes with the real AgentOS: two people resume one run, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { callers, newer, outcome, places, policies, stopped } from "../../__test__/callers.js";
import { opened } from "../../__test__/contents.js";
import { expectSound, place } from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";

const path = fileURLToPath(new URL("fixtures/scopes.mjs", import.meta.url));

/** The policies, and a second call without a scope. */
const ways = [...policies, "outside"] as const;

describe.each(places)("$kind, $where", ({ kind, where }) => {
  // `recover` leaves the runs of other live processes, and waits for a lease.
  const recoveries = where === "one process" ? policies.map((way) => ({ recovers: true, way })) : [];
  const cells = [...ways.map((way) => ({ recovers: false, way })), ...recoveries];

  it.each(cells)("two people resume a run at once, %o", async ({ recovers, way }) => {
    const target = place(kind);
    const store = await opened(target);
    const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
    for (const pays of ["once", "plain"]) {
      const run = await outcome(here.call("start", { pays }));
      const call = { run, pays, recovers };
      const one = first.call("run", call);
      await one.paying;
      const two = here.call(way === "outside" ? "outside" : "run", { ...call, options: newer(way) });
      two.go();
      const stops = way === "interrupt" || way === "rollback";
      if (stops) await one.stopping;
      else if (way !== "enqueue") await two.ended;
      one.go();
      const paid = "begun paid order end";
      const [ended, second] = {
        reject: [paid, "BUSY"],
        enqueue: [paid, recovers ? "nothing to recover" : paid],
        interrupt: [stopped("interrupt"), paid],
        rollback: [stopped("rollback"), paid],
        outside: [paid, "BUSY"],
      }[way];
      // A resume of AgentOS saves no checkpoint, so the next one runs its last nodes again.
      const again = pays === "plain" && (stops || (way === "enqueue" && !recovers)) ? 2 : 1;
      const met = [await outcome(one), await outcome(two), payments(run)["order"]];
      const checkpoints = recovers ? "3" : "2";
      expect([...met, await outcome(here.call("checkpoints", call))]).toEqual([ended, second, again, checkpoints]);
    }
    await expectSound(store);
  });
});
