// Tests making checkpoint ids and taking them apart.
import { type ParsedCheckpointId, generateCheckpointId, parseCheckpointId } from "forkpoint/helix";
import { describe, expect, it, test } from "vitest";
import { thrown } from "../helpers.js";
import { hostileIds, notIds, unusableIds } from "../hostile-values.js";

/** The form as the contract has it. */
const form = /^cpv1-([\s\S]+)-s(\d+)-t(\d+)-([0-9a-f]{6})$/;

/** Takes an id apart as the contract says. */
function expected(id: string): ParsedCheckpointId | null {
  const [, sessionId, stepCount, timestamp, random] = form.exec(id) ?? [];
  if (sessionId === undefined) return null;
  return { version: 1, sessionId, stepCount: Number(stepCount), timestamp: Number(timestamp), random: random! };
}

describe("generateCheckpointId", () => {
  it("has the session, the step, the time and six random digits", () => {
    const before = Date.now();
    const id = generateCheckpointId("session-456", 10);
    const after = Date.now();
    const [, sessionId, stepCount, timestamp] = form.exec(id)!;
    expect([sessionId, stepCount]).toEqual(["session-456", "10"]);
    expect(Number(timestamp)).toBeGreaterThanOrEqual(before);
    expect(Number(timestamp)).toBeLessThanOrEqual(after);
  });

  it("takes a time", () => {
    expect(generateCheckpointId("a", 0, 0)).toMatch(/^cpv1-a-s0-t0-[0-9a-f]{6}$/);
    const most = Number.MAX_SAFE_INTEGER;
    expect(generateCheckpointId("a", most, most)).toMatch(/^cpv1-a-s9007199254740991-t9007199254740991-[0-9a-f]{6}$/);
  });

  it("gives different ids for the same step and time", () => {
    const ids = new Set(Array.from({ length: 50 }, () => generateCheckpointId("a", 1, 1)));
    expect(ids.size).toBeGreaterThan(45);
  });

  it("refuses wrong arguments", () => {
    for (const id of notIds) {
      const error = thrown(() => generateCheckpointId(id as never, 1));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    expect(thrown(() => generateCheckpointId("\ud83d", 1)).code).toBe("INVALID_ARGUMENT");
    for (const number of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      for (const call of [() => generateCheckpointId("a", number), () => generateCheckpointId("a", 1, number)]) {
        expect(thrown(call)).toBeInstanceOf(RangeError);
      }
    }
    for (const value of ["1", null, {}, 1n]) {
      expect(thrown(() => generateCheckpointId("a", value as never))).toBeInstanceOf(TypeError);
      expect(thrown(() => generateCheckpointId("a", 1, value as never))).toBeInstanceOf(TypeError);
    }
    expect(thrown(() => generateCheckpointId("a", undefined as never))).toBeInstanceOf(TypeError);
  });
});

describe("parseCheckpointId", () => {
  it("takes the document's id apart", () => {
    expect(parseCheckpointId("cpv1-session-123-s5-t1703123456789-a1b2c3")).toStrictEqual({
      version: 1,
      sessionId: "session-123",
      stepCount: 5,
      timestamp: 1_703_123_456_789,
      random: "a1b2c3",
    });
  });

  it("gives back every session id", () => {
    for (const sessionId of hostileIds) {
      const id = generateCheckpointId(sessionId, 7, 1_700_000_000_000);
      const parsed = parseCheckpointId(id);
      expect(parsed).toEqual(expected(id));
      expect(parsed).toMatchObject({ sessionId, stepCount: 7, timestamp: 1_700_000_000_000 });
    }
  });

  test.each([
    "cpv1-a-s1-t2-abcdef-s3-t4-123456",
    "cpv1--s1-t2-abcdef-s3-t4-123456",
    "cpv1-a\nb-s5-t1-abcdef",
    "cpv1-a-s005-t0001-000000",
    "cpv1--s5-t1-abcdef",
    "cpv1-a-s9007199254740993-t1-abcdef",
    "cpv1-a-s-5-t1-abcdef",
    "cpv1-a-s5-t1.5-abcdef",
    "cpv1-a-s5-t1-ABCDEF",
    "cpv1-a-s5-t1-abcde",
    "cpv1-a-s5-t1-abcdef0",
    "cpv1-a-s5-t1-abcdef\n",
    "\ncpv1-a-s5-t1-abcdef",
    "cpv2-a-s5-t1-abcdef",
    "cpv1-a-s٥-t1-abcdef",
    "cpv1-",
    "",
    ...hostileIds,
  ])("of %j gives what the contract's regular expression finds", (id) => {
    expect(parseCheckpointId(id)).toEqual(expected(id));
  });

  it("gives null for anything else, and never throws", () => {
    for (const value of [...notIds, ...unusableIds, Number.NaN, new Date(0)]) {
      expect(parseCheckpointId(value as never)).toBeNull();
    }
    const hostile = { toString: () => "cpv1-a-s5-t1-abcdef", length: 19, isWellFormed: () => true };
    expect(parseCheckpointId(hostile as never)).toBeNull();
    expect(parseCheckpointId("cpv1-\ud83d-s5-t1-abcdef")).toBeNull();
    expect(parseCheckpointId(`cpv1-a-s${"9".repeat(400)}-t1-abcdef`)).toBeNull();
    expect(parseCheckpointId(`cpv1-${"-s1-t1".repeat(100_000)}`)).toBeNull();
  });
});
