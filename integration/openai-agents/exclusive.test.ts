// Scopes with the real SDK: two people approve one saved state, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { callers, newer, outcome, places, policies, stopped } from "../../__test__/callers.js";
import { opened } from "../../__test__/contents.js";
import { Gate, expectSound, failure, place } from "../../__test__/helpers.js";
import { ForkpointSession } from "forkpoint/openai-agents";
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
        // A state is taken once, also by work that is undone.
        rollback: [
          "done",
          'UNSUPPORTED: the work on a run of openai-agents-states cannot be rolled back: pass whenBusy: "interrupt" or "enqueue"',
        ],
        outside: ["done", expect.stringContaining("was taken by process")],
      }[way];
      // Each item once, and one payment.
      const items = "message, function_call, paid order, message";
      const met = [await outcome(one), await outcome(two), await outcome(here.call("items", call))];
      expect([...met, payments(pays)["order"]]).toEqual([ended, second, items, 1]);
    }
    await expectSound(store);
  });

  if (where === "two processes") return;

  it("a second message that rolls back the first takes its place in the session", async () => {
    const store = await opened(place(kind));
    const session = new ForkpointSession(store, { sessionId: "s" });
    const texts = async () => (await session.getItems()).map((item) => (item as { content: string }).content).join(" ");
    const say = (content: string) => session.addItems([{ role: "user", content }]);
    for (const before of ["", "earlier "]) {
      await session.clearSession();
      if (before !== "") await say(before.trim());
      const gate = new Gate();
      const first = session.exclusive("s", async (signal) => {
        await say("first");
        await say("second");
        signal.addEventListener("abort", () => gate.open());
        await gate.wait();
        signal.throwIfAborted();
      });
      const refused = failure(first, "STOPPED");
      await gate.reached;
      const other = new ForkpointSession(store, { sessionId: "s" });
      for (const call of [other.clearSession(), other.popItem(), other.addItems([{ role: "user", content: "other" }])])
        await failure(call, "CONFLICT");
      await session.exclusive("s", () => say("third"), { whenBusy: "rollback" });
      await refused;
      expect(await texts()).toBe(`${before}third`);
      const cleared = new Gate();
      const work = session.exclusive("s", async (signal) => {
        await session.clearSession();
        signal.addEventListener("abort", () => cleared.open());
        await cleared.wait();
      });
      const stops = failure(work, "STOPPED");
      await cleared.reached;
      const refusal = session.exclusive("s", () => say("fourth"), { whenBusy: "rollback" });
      expect((await failure(refusal, "NOT_FOUND")).message).toContain("items with which it began");
      await stops;
    }
  });
});
