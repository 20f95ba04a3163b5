// Scopes with the real Mastra: two calls that resume or restart one run, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Policy, There, callers, newer, outcome, places, policies, stopped } from "../../__test__/callers.js";
import { place, sharedKinds } from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";
import { storeAt } from "./helpers.js";

const path = fileURLToPath(new URL("fixtures/scopes.mjs", import.meta.url));

/** The outcomes of both calls, the status of the run, and how often it has paid. */
type Met = [first: string, second: string, status: string, payments: number];

/** How a run ends that was stopped and paid again, without the effect. */
const again = (pays: string) => (pays === "once" ? 1 : 2);

/** The policies, and a second call without a scope. */
const ways = [...policies, "outside"] as const;
type Way = (typeof ways)[number];

const table: Record<"resume" | "restart", (paid: string, pays: string) => Record<Way, Met>> = {
  resume: (paid, pays) => ({
    reject: [paid, "BUSY", "success", 1],
    enqueue: [paid, "Error: This workflow run was not suspended", "success", 1],
    // A canceled run cannot be resumed.
    interrupt: ["canceled", "Error: This workflow run was not suspended", "canceled", 1],
    rollback: [stopped("rollback"), "2 paid order end", "success", again(pays)],
    outside: [paid, "Error: This workflow run was not suspended", "success", 1],
  }),
  restart: (paid, pays) => ({
    reject: [paid, "BUSY", "success", 1],
    enqueue: [paid, paid, "success", 1],
    interrupt: ["canceled", "Error: This workflow run was not active", "canceled", 1],
    rollback: [stopped("rollback"), paid, "success", again(pays)],
    outside: [paid, "BUSY", "success", 1],
  }),
};

describe.each(places)("$kind, $where", ({ kind, where }) => {
  const cells = (["resume", ...(sharedKinds.includes(kind) ? (["restart"] as const) : [])] as const).flatMap((what) =>
    ways.map((way) => ({ what, way })),
  );

  it.each(cells)("a run is told twice to $what, $way", async ({ what, way }) => {
    const target = place(kind);
    const store = storeAt(target);
    const { here, first, payments } = callers(where, target, path, (...tools) => program.make(store, ...tools));
    for (const pays of ["once", "plain"]) {
      const given = { run: pays, what, pays, answer: "1" };
      expect(await outcome(here.call("outside", { ...given, what: "start" }))).toBe("suspended");
      if (what === "restart") await dies(target, { ...given, what: "resume", answer: "0", pays: "dies" });
      const one = first.call("run", given);
      await one.paying;
      const two =
        way === "outside"
          ? here.call("outside", { ...given, answer: "2" })
          : here.call("run", { ...given, answer: "2", options: newer(way satisfies Policy) });
      two.go();
      if (way === "interrupt" || way === "rollback") await one.stopping;
      else if (way !== "enqueue") await two.ended;
      one.go();
      const met = [await outcome(one), await outcome(two), await outcome(here.call("status", { run: pays }))];
      const paid = `${what === "resume" ? "1" : "0"} paid order end`;
      expect([...met, payments(pays)["order"]]).toEqual(table[what](paid, pays)[way]);
    }
  });

  /** Resumes a run in a process that is killed before it pays. */
  async function dies(target: string, given: object): Promise<void> {
    const { first } = callers("two processes", target, path, () => ({}));
    await first.call("outside", given).paying;
    (first as There).program.kill();
    await (first as There).program.ended;
  }
});
