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
  it.each(ways)("two people resume a run at once, %s", async (way) => {
    const target = place(kind);
    const store = await opened(target);
    const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
    for (const pays of ["once", "plain"]) {
      const run = await outcome(here.call("start", { pays }));
      const call = { run, pays };
      const before = await outcome(here.call("nodes", call));
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
        enqueue: [paid, paid],
        interrupt: [stopped("interrupt"), paid],
        rollback: [stopped("rollback"), paid],
        outside: [paid, "BUSY"],
      }[way];
      const again = stops && pays === "plain" ? 2 : 1;
      const met = [await outcome(one), await outcome(two), payments(run)["order"]];
      expect([before, ...met, await outcome(here.call("nodes", call))]).toEqual(["begin", ended, second, again, "x"]);
    }
    await expectSound(store);
  });
});
