// Tests forkpoint/testing with AgentOS' real graphs.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { killEverywhere, withFaults } from "forkpoint/testing";
import { expect, it } from "vitest";
import { Tools, chain, external, open } from "./harness.js";

const program = fileURLToPath(new URL("fixtures/killed.mjs", import.meta.url));
const calls = ["calls search", "calls book", "calls mail"];

it("a graph that is killed after every save has the same result, and each external call happens once", async () => {
  const { unharmed, reports } = await killEverywhere(program, {
    on: "save",
    check({ lines, last }, { lines: expected }) {
      expect(last.lines.at(-1)).toBe(expected.at(-1));
      expect(lines.slice(0, -1)).toEqual(calls);
    },
  });
  expect(unharmed.lines).toHaveLength(4);
  expect(reports.map(({ attempts }) => attempts[0]!.lines.length)).toEqual([1, 2, 3]);
});

it("a graph that is killed before every save has the same result, and repeats one call", async () => {
  const { reports } = await killEverywhere(program, {
    on: "save",
    when: "before",
    check({ last }, { lines: expected }) {
      expect(last.lines.at(-1)).toBe(expected.at(-1));
    },
  });
  const repeated = reports.map(({ lines }) => lines.filter((line, at) => lines.indexOf(line) !== at));
  expect(repeated).toEqual(calls.map((call) => [call]));
});

it("a save that fails ends the run, which is resumed after it", async () => {
  const store = open("memory:");
  const tools = new Tools();
  const graph = (checkpointStore: typeof store) =>
    chain(external("one two")).compile({ checkpointStore, deps: tools.deps });
  const faulty = withFaults(store, [{ on: "save", nth: 2, reject: "FULL" }]);
  await expect(graph(faulty).invoke({})).rejects.toMatchObject({ code: "FULL" });
  const [run] = (await store.runs()).runs;
  expect(await graph(store).resume(run!.runId)).toEqual({ one: "one!", two: "two!" });
  expect(tools.calls).toEqual(["one", "two", "two"]);
});
