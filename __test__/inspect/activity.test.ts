// Tests how much was saved in each of the last hours, on every kind of store.
import { CheckpointStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { inspected } from "../contents.js";
import { checkpoint, kinds, place, rejection } from "../helpers.js";

const HOUR = 3_600_000;

describe.each(kinds)("activity on %s", (kind) => {
  async function opened() {
    const { store, inspector } = await inspected(place(kind));
    return { graphs: new CheckpointStore(store), inspector };
  }

  test("of an empty store is nothing", async () => {
    const { inspector } = await opened();
    const hours = await inspector.activity();
    expect(hours).toHaveLength(24);
    expect(hours.map(({ saved }) => saved)).toEqual(Array(24).fill(0));
    expect(await inspector.activity({ hours: 2 })).toEqual(hours.slice(22));
  });

  test("counts what was saved, also what was removed since", async () => {
    const { graphs, inspector } = await opened();
    for (let n = 0; n < 40; n++) await graphs.save(checkpoint({ id: `c${n}`, runId: `run-${n % 3}` }));
    await graphs.delete("c7");
    const began = Date.now();
    const hours = await inspector.activity();
    expect(hours.map(({ at }) => at)).toEqual(hours.map((_, index) => hours[0]!.at + index * HOUR));
    expect(hours[23]!.at % HOUR).toBe(0);
    expect(began - hours[23]!.at).toBeLessThan(HOUR + 60_000);
    // An hour may have begun while the test ran.
    const [before, now] = hours.slice(22).map(({ saved }) => saved);
    expect(before! + now!).toBe(40);
    expect(hours.slice(0, 22).every(({ saved }) => saved === 0)).toBe(true);
  });

  test("refuses wrong hours", async () => {
    const { inspector } = await opened();
    for (const hours of [0, 169, 1.5, "24", null]) {
      const error = await rejection(inspector.activity({ hours } as { hours: number }));
      expect(error.code, String(hours)).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain("hours");
    }
    expect((await rejection(inspector.activity({ days: 1 } as object))).message).toContain("Unknown option");
  });
});
