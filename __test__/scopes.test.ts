// Scopes of workflows and of graphs: two calls of one run, in one process and in two.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { callers, newer, outcome, places, policies, stopped } from "./callers.js";
import { opened } from "./contents.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";
import { expectSound, fixture, place } from "./helpers.js";

/** The policies, and a second call without a scope. */
const ways = [...policies, "outside"] as const;

describe.each(places)("$kind, $where", ({ kind, where }) => {
  it.each(["workflow", "graph"].flatMap((of) => ways.map((way) => ({ of, way }))))(
    "two calls of a $of at once, $way",
    async ({ of, way }) => {
      const target = place(kind);
      const store = await opened(target);
      const path = fixture("scopes.mjs");
      const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
      for (const pays of ["once", "plain"]) {
        const call = { of, run: pays, pays };
        const one = first.call("run", { ...call, answer: "1" });
        await one.paying;
        const next = { ...call, answer: "2", options: newer(way) };
        const two = here.call(way === "outside" ? "outside" : "run", next);
        two.go();
        const stops = way === "interrupt" || way === "rollback";
        if (stops) await one.stopping;
        else if (way !== "enqueue") await two.ended;
        one.go();
        const paid = "1 paid order end";
        const [ended, second] = {
          reject: [paid, "BUSY"],
          enqueue: [paid, paid],
          interrupt: [stopped("interrupt"), paid],
          rollback: [stopped("rollback"), "2 paid order end"],
          outside: [paid, where === "one process" ? expect.stringMatching("CONFLICT: .* already running") : "BUSY"],
        }[way];
        const again = stops && pays === "plain" ? 2 : 1;
        expect([await outcome(one), await outcome(two), payments(pays)]).toEqual([ended, second, { order: again }]);
        // The run has ended, as the last caller was told.
        const last = await outcome(here.call("run", { ...call, answer: "3" }));
        expect(last).toBe(stops ? second : ended);
      }
      await expectSound(store);
    },
  );
});
