// copyStore with the real framework: a run that was interrupted is resumed in the copy, without repeating a node.
import { join } from "node:path";
import { copyStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { failing, folder, open, ticket, ticketTools, watch } from "./harness.js";

const target = {
  SQLite: () => join(folder(), "agent.db"),
  "text files": () => `jsonl:${join(folder(), "runs")}`,
};

describe.each([
  ["SQLite", "text files"],
  ["text files", "SQLite"],
  ["SQLite", "SQLite"],
] as const)("from %s to %s", (from, to) => {
  it("an interrupted run goes on in the copy, and a branch of it too", async () => {
    const places = [target[from](), target[to]()] as const;
    const checkpointStore = open(places[0]);
    const tools = ticketTools({ report: failing(1, "closed") });
    const run = await watch(ticket().compile({ checkpointStore, deps: tools.deps }).stream({ ticket: 7 }));
    expect(run.interrupted).toBe("report");
    const latest = (await checkpointStore.latest(run.runId))!;
    const branch = await checkpointStore.fork(latest.id, { scratch: { total: 481 } });
    const before = [await checkpointStore.runs(), await checkpointStore.listByRun(run.runId)];
    await checkpointStore.close();

    const result = await copyStore(...places);
    const copy = open(places[1]);
    expect([await copy.runs(), await copy.listByRun(run.runId)]).toEqual(before);
    expect(await copy.latest(run.runId)).toEqual(latest);
    expect(result.checkpoints).toBe((await copy.stats()).checkpoints);
    const graph = ticket().compile({ checkpointStore: copy, deps: tools.deps });
    tools.calls.length = 0;
    expect(await graph.resume(run.runId)).toMatchObject({ load: "load!", review: "review!", report: "closed" });
    expect(await graph.resume(branch)).toMatchObject({ load: "load!", report: "closed" });
    expect(tools.calls).toEqual(["report", "report"]);
  });
});
