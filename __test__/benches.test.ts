// Tests what the benchmarks' figures rest on: that syncs are really replaced, and that a goal is judged as it is written.
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

interface Figure {
  median: number;
}

interface Row {
  ours: Figure;
  theirs?: Figure;
  unit: (number: number) => string;
  goal?: number;
  most?: number;
  more?: number;
}

type Run = (us: number, file: string) => Promise<{ direct: number; saved: number }>;

interface Line {
  name: string;
  light: string;
  dark: string;
  points: Array<[number, number]>;
}

const modules: Record<string, string> = {
  sync: "../benches/lib/sync.mjs",
  report: "../benches/lib/report.mjs",
  comparison: "../benches/lib/comparison.mjs",
  figures: "../benches/lib/figures.mjs",
  picture: "../benches/lib/picture.mjs",
};
const load = async <T>(name: string) => (await import(modules[name]!)) as T;

it("a fixed sync replaces and counts every sync of a program and of the addon", async () => {
  const { onFixedDisk } = await load<{ onFixedDisk: (work: (run: Run) => unknown) => Promise<unknown> }>("sync");
  const program = fileURLToPath(new URL("fixtures/syncs.mjs", import.meta.url));
  const counted = await onFixedDisk((run) => run(1, program));
  // The C compiler that builds SQLite is there.
  const linux = process.platform === "linux";
  expect(counted).toEqual(linux ? { direct: 2, saved: expect.toSatisfy((count: number) => count > 0) } : []);
});

describe("a goal", async () => {
  const { aim, measured, rate, time } = await load<{
    aim: (row: Row) => [string, string];
    measured: (row: Row, figure: Figure) => string;
    rate: (us: number) => string;
    time: (us: number) => string;
  }>("report");
  const row = (ours: number, theirs: number, goal: Omit<Row, "ours" | "theirs" | "unit">, unit = time): Row => {
    return { ours: { median: ours }, theirs: { median: theirs }, unit, ...goal };
  };
  const judged = (one: Row) => [...aim(one), measured(one, one.ours)];

  it("of a ratio asks for that many times less", () => {
    expect(judged(row(10, 30, { goal: 3 }))).toEqual(["x3", "yes", "x3"]);
    expect(judged(row(10, 29, { goal: 3 }))).toEqual(["x3", "**no**", "x2.9"]);
  });

  it("of a difference asks how much longer ours takes", () => {
    expect(judged(row(180, 100, { more: 80 }))).toEqual(["≤80 us more", "yes", "+80 us"]);
    expect(judged(row(181, 100, { more: 80 }))).toEqual(["≤80 us more", "**no**", "+81 us"]);
    expect(judged(row(90, 100, { more: 80 }))).toEqual(["≤80 us more", "yes", "-10 us"]);
  });

  it("of a time is the most, and of a rate is the least", () => {
    expect(judged(row(25, 1, { most: 25 }))).toEqual(["≤25 us", "yes", "25 us"]);
    expect(judged(row(26, 1, { most: 25 }))).toEqual(["≤25 us", "**no**", "26 us"]);
    expect(judged(row(50, 1, { most: 100 }, rate))).toEqual(["≥10,000/s", "yes", "20,000/s"]);
    expect(judged(row(200, 1, { most: 100 }, rate))).toEqual(["≥10,000/s", "**no**", "5,000/s"]);
  });

  it("may be missing", () => {
    expect(aim(row(1, 2, {}))).toEqual(["", ""]);
  });
});

it("least and most have the unit of the median", async () => {
  const { spread, rate, time } = await load<{
    spread: (figure: Figure & { least: number; most: number }, unit: Row["unit"]) => string;
    rate: Row["unit"];
    time: Row["unit"];
  }>("figures");
  expect(spread({ median: 1_060, least: 988, most: 1_170 }, time)).toBe("1.06 ms (0.988–1.17)");
  expect(spread({ median: 853, least: 752, most: 3_230 }, time)).toBe("853 us (752–3,230)");
  expect(spread({ median: 50, least: 40, most: 100 }, rate)).toBe("20,000/s (10,000–25,000)");
  expect(spread({ median: 5, least: 5, most: 5 }, time)).toBe("5 us");
});

it("a table has the wall time, the event loop and all peers of a work in one line", async () => {
  const { tablesOf } = await load<{ tablesOf: (lines: object[]) => unknown }>("comparison");
  const line = (what: string, ours: string, peer: string, theirs: string, ratio: string) => {
    return { work: "a save", what, mode: "WAL, FULL", ours, peer, theirs, ratio };
  };
  const lines = [
    line("wall time", "2 ms (1–3)", "a table", "4 ms", "x2"),
    line("event loop", "1 ms (0.5–2)", "a table", "4.1 ms", "x4.1"),
    line("wall time", "2 ms (1–3)", "a server", "6 ms", "x3"),
    line("event loop", "1 ms (0.5–2)", "a server", "500 us", "x0.5"),
    line("bytes", "1 KB", "a server", "2 KB", "x2"),
  ];
  expect(tablesOf(lines)).toEqual([
    {
      head: ["", "Forkpoint", "a table", "a server"],
      rows: [
        ["**a save**", "2 ms (1–3), loop 1 ms", "4 ms (x2, x4.1)", "6 ms, loop 500 us (x3, x0.5)"],
        ["bytes", "1 KB", "", "2 KB (x2)"],
      ],
    },
  ]);
});

it("the labels of a picture do not touch, and stay beside the plot", async () => {
  const { picture } = await load<{ picture: (drawn: object) => string }>("picture");
  const line = (name: string, end: number): Line => {
    return {
      name,
      light: "#000000",
      dark: "#ffffff",
      points: [
        [10, 1],
        [1_000, end],
      ],
    };
  };
  const axis = (marks: number[]) => ({ label: "a", marks, unit: String });
  const names = ["a < b", "c", "d", "e"];
  const svg = picture({
    title: "A & B",
    x: axis([10, 100, 1_000]),
    y: axis([1, 10, 100]),
    lines: names.map((name, at) => line(name, 1 + at / 100)),
  });
  const places = [...svg.matchAll(/<text class="name-\d" x="\d+" y="([\d.]+)">/g)].map(([, y]) => Number(y));
  expect(places).toHaveLength(names.length);
  for (const [at, y] of places.entries()) if (at > 0) expect(y - places[at - 1]!).toBeGreaterThanOrEqual(16);
  expect(places.at(-1)).toBeLessThanOrEqual(420);
  expect(svg).toContain("a &lt; b");
  expect(svg).toContain("A &amp; B");
  expect(svg).toContain("prefers-color-scheme: dark");
});
