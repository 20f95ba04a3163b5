// Scopes with the real SDK: a route whose response is the scope's result is called twice, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { callers, newer, outcome, places, policies, stopped } from "../../__test__/callers.js";
import { opened } from "../../__test__/contents.js";
import { expectSound, place } from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";

const path = fileURLToPath(new URL("fixtures/scopes.mjs", import.meta.url));

/** The policies, a second call without a scope, and a second call after the first client has left. */
const ways = [...policies, "outside", "leaves"] as const;

describe.each(places)("$kind, $where", ({ kind, where }) => {
  it.each(ways)("two messages at once, %s", async (way) => {
    const target = place(kind);
    const store = await opened(target);
    const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
    for (const pays of ["once", "plain"]) {
      const call = { run: pays, pays };
      const one = first.call("run", { ...call, order: "1", leaves: way === "leaves" });
      await one.paying;
      if (way === "leaves") await one.ended;
      const options = newer(way === "leaves" ? "enqueue" : way);
      const two = here.call(way === "outside" ? "outside" : "run", { ...call, order: "2", options });
      two.go();
      if (way === "interrupt" || way === "rollback") await one.stopping;
      else if (way !== "enqueue" && way !== "leaves") await two.ended;
      one.go();
      const again = pays === "once" ? "paid 1" : "paid 2";
      // What a stopped call has of its answer may be stored too.
      const broken = expect.stringMatching(new RegExp(`^1( \\| )+2 \\| ${again}$`));
      const [ended, second, texts] = {
        reject: ["paid 1", "BUSY", "1 | paid 1"],
        enqueue: ["paid 1", again, `1 | paid 1 | 2 | ${again}`],
        interrupt: [stopped("interrupt"), again, broken],
        rollback: [stopped("rollback"), again, `2 | ${again}`],
        outside: ["paid 1", "BUSY", "1 | paid 1"],
        leaves: ["left", again, broken],
      }[way];
      const met = [await outcome(one), await outcome(two), await outcome(here.call("texts", call))];
      expect(met).toEqual([ended, second, texts]);
      expect(payments(pays)).toEqual(met[1] === "paid 2" ? { 1: 1, 2: 1 } : { 1: 1 });
    }
    await expectSound(store);
  });
});
