// Scopes with the real SDK: two people approve one saved state, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { callers, newer, noRollback, outcome, places, policies, stopped } from "../../__test__/callers.js";
import { opened } from "../../__test__/contents.js";
import { expectSound, place } from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";

const path = fileURLToPath(new URL("fixtures/scopes.mjs", import.meta.url));

/** The policies, and a second call without a scope. */
const ways = [...policies, "outside"] as const;

describe.each(places)("$kind, $where", ({ kind, where }) => {
  it.each(ways)("two people approve at once, %s", async (way) => {
    const target = place(kind);
    const store = await opened(target);
    const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
    for (const pays of ["once", "plain"]) {
      const call = { run: pays, pays };
      await here.call("start", call).ended;
      const one = first.call("run", call);
      await one.paying;
      const two = way === "outside" ? here.call("outside", call) : here.call("run", { ...call, options: newer(way) });
      two.go();
      if (way === "interrupt") await one.stopping;
      else if (way !== "enqueue") await two.ended;
      one.go();
      const [ended, second] = {
        reject: ["done", "BUSY"],
        enqueue: ["done", expect.stringContaining("NOT_FOUND")],
        interrupt: [stopped("interrupt"), "done"],
        rollback: ["done", noRollback("openai-agents-states")],
        outside: ["done", expect.stringContaining("was taken by process")],
      }[way];
      // Each item once, and one payment.
      const items = "message, function_call, paid order, message";
      const met = [await outcome(one), await outcome(two), await outcome(here.call("items", call))];
      expect([...met, payments(pays)["order"]]).toEqual([ended, second, items, 1]);
    }
    await expectSound(store);
  });
});
