// Tests the recorded store: that it has what it says, and that everybody who records it gets the same.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Inspector, type RunInfo, openInspector } from "forkpoint/inspect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { names, record } from "./recorded.mjs";

const SMALL = 40;
const place = mkdtempSync(join(tmpdir(), "forkpoint-recorded-"));
const paths = ["first.db", "second.db"].map((name) => join(place, name)) as [string, string];
let inspector: Inspector;

const program = fileURLToPath(new URL("recorded.mjs", import.meta.url));

beforeAll(async () => {
  await record(paths[0], { small: SMALL });
  await promisify(execFile)(process.execPath, [program, paths[1], "0", String(SMALL)]);
  inspector = await openInspector(paths[0]);
});
afterAll(async () => {
  await inspector?.close();
  rmSync(place, { recursive: true, force: true, maxRetries: 10 });
});

const named = Object.fromEntries(Object.entries(names).map(([name, id]) => [id, name]));

async function runsOf(from: Inspector): Promise<RunInfo[]> {
  const { items, cursor } = await from.runs({ limit: 1_000, allNs: true });
  expect(cursor).toBeNull();
  return items;
}

const langgraph = (run: string) => ({ space: "langgraph", run, ns: "" });

/** The states of a run, the oldest first, without the ids that each recording makes anew. */
async function statesOf(from: Inspector, { space, run, ns }: RunInfo): Promise<unknown> {
  const { items } = await from.checkpoints({ space, run, ns }, { order: "asc", limit: 1_000 });
  const states = [];
  for (const { id } of items) {
    const detail = await from.checkpoint({ space, run, ns, id });
    const writes = detail!.writes.map(({ channel, value }) => [channel, value]);
    states.push({ label: detail!.checkpoint.label, state: detail!.state, writes, next: detail!.next });
  }
  // Ids of checkpoints, of tasks and of interrupts, the times of answers, and the stacks of errors.
  return JSON.parse(
    JSON.stringify(states, (key, value) => (["timestamp", "createdAt", "updatedAt", "stack"].includes(key) ? 0 : value))
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "uuid")
      .replace(/[0-9a-f]{12}-[0-9a-f]{12}-\d{6}/g, "task")
      .replace(/"(id|interrupt_id)":"[0-9a-f]{32}"/g, '"$1":"hash"')
      .replace(/"at":\d{13}/g, '"at":0'),
  );
}

describe("the recorded store", () => {
  test("has each run, with its status", async () => {
    const found = Object.fromEntries(
      (await runsOf(inspector))
        .filter(({ run, ns }) => Object.hasOwn(named, run) && !ns)
        .map(({ space, run, status, checkpoints }) => [named[run], `${space} ${status} ${checkpoints}`]),
    );
    expect(found).toEqual({
      chat: "langgraph finished 75",
      waiting: "langgraph waiting 3",
      refunded: "langgraph finished 4",
      approvals: "langgraph waiting 2",
      twoQuestions: "langgraph waiting 2",
      failed: "langgraph failed 3",
      parallel: "langgraph finished 6",
      forked: "langgraph finished 11",
      large: "langgraph finished 4",
      agentos: "agentos finished 7",
      agentosFork: "agentos unfinished 3",
      agentosWaiting: "agentos waiting 5",
      agentosFailed: "agentos failed 4",
      agentium: "agentium finished 5",
      agentiumUnfinished: "agentium unfinished 3",
      tinyagents: "tinyagents finished 4",
      tinyagentsWaiting: "tinyagents waiting 2",
      tinyagentsFailed: "tinyagents failed 2",
      helix: "helix unfinished 5",
      ai: "ai unknown 14",
      aiWaiting: "ai waiting 1",
      openai: "openai-agents unknown 1",
    });
  });

  test("a state has 2 MB, effects and labels are there, and nothing is damaged", async () => {
    const large = await inspector.checkpoint(langgraph(names.large));
    expect(JSON.stringify(large!.state).length).toBeGreaterThan(2_000_000);
    const effects = await inspector.effects({ space: "agentos", run: names.agentos });
    expect(effects.map(({ key, state }) => `${key}: ${state}`)).toEqual([
      "book TP753: done",
      "mail the traveller: failed",
    ]);
    const labelled = await inspector.runs({ label: { customer: "ada" } });
    expect(labelled.items.map(({ run }) => run)).toEqual([names.chat]);
    expect(await inspector.verify()).toMatchObject({ ok: true });
  });

  test("another recording, from the command line, has the same runs, states and order", async () => {
    const again = await openInspector(paths[1]);
    try {
      const [mine, theirs] = [await runsOf(inspector), await runsOf(again)];
      const shown = ({ space, run, ns, status }: RunInfo) => [space, run, (ns ?? "").split(":")[0], status];
      expect(theirs.map(shown)).toEqual(mine.map(shown));
      for (const [at, run] of mine.entries()) {
        if (run.run === names.large) continue;
        expect(await statesOf(again, theirs[at]!), run.run).toEqual(await statesOf(inspector, run));
      }
    } finally {
      await again.close();
    }
  });
});
