// Tests the store inside the real Mastra. Models are scripted.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore, type MastraCompositeStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Kind, durable, kinds, place, run as start, sharedKinds } from "../../__test__/helpers.js";
import { type Part, call, say, scripted, storeAt } from "./helpers.js";

const any = z.any();
const step = (id: string, execute: (context: any) => Promise<unknown>) =>
  createStep({ id, inputSchema: any, outputSchema: any, suspendSchema: any, resumeSchema: any, execute });

const ask = step("b", async ({ resumeData, suspend }) => (resumeData ? { b: resumeData } : suspend({ ask: "?" })));

/** A workflow of three steps, of which the second one waits for a human. */
const order = () =>
  createWorkflow({ id: "order", inputSchema: any, outputSchema: any })
    .then(step("a", async () => ({ a: 1 })))
    .then(ask)
    .then(step("c", async ({ inputData }) => ({ c: inputData })))
    .commit();

const mastraOf = (storage: MastraCompositeStore, workflows: Record<string, any> = { order: order() }) =>
  new Mastra({ storage, workflows, logger: false });

/** Counts the calls of the domain `workflows`. */
function recorded(storage: MastraCompositeStore): string[] {
  const calls: string[] = [];
  const workflows = storage.stores!.workflows as unknown as Record<string, (args: any) => unknown>;
  for (const name of ["persistWorkflowSnapshot", "loadWorkflowSnapshot", "updateWorkflowState", "getWorkflowRunById"]) {
    const call = workflows[name]!.bind(workflows);
    workflows[name] = (args) => {
      calls.push(`${name} ${args.snapshot?.status ?? args.opts?.status ?? ""}`.trim());
      return call(args);
    };
  }
  return calls;
}

/** A run that is suspended, resumed by another Mastra, and travels back. */
async function story(storage: MastraCompositeStore) {
  const calls = recorded(storage);
  const first = await (await mastraOf(storage).getWorkflow("order").createRun({ runId: "r" })).start({ inputData: {} });
  const again = mastraOf(storage);
  const second = await (
    await again.getWorkflow("order").createRun({ runId: "r" })
  ).resume({ step: "b", resumeData: { yes: 1 } });
  const third = await (
    await again.getWorkflow("order").createRun({ runId: "r" })
  ).timeTravel({ step: "c", inputData: { b: 2 } });
  return {
    calls,
    statuses: [first.status, second.status, third.status],
    result: (third as { result?: unknown }).result,
  };
}

describe.each(kinds)("Mastra over %s", (kind) => {
  it("makes the same calls as over its own store, and has the same results", async () => {
    const ours = await story(storeAt(place(kind)));
    expect(ours).toEqual(await story(new InMemoryStore()));
    expect(ours.statuses).toEqual(["suspended", "success", "success"]);
    expect(ours.result).toEqual({ c: { b: 2 } });
  });

  it("resumes a run once, however often it is told", async () => {
    const store = storeAt(place(kind));
    await (await mastraOf(store).getWorkflow("order").createRun({ runId: "r" })).start({ inputData: {} });
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(async () => {
        const run = await mastraOf(store).getWorkflow("order").createRun({ runId: "r" });
        return run.resume({ step: "b", resumeData: { yes: 1 } });
      }),
    );
    const [won, ...lost] = outcomes.toSorted((a, b) => a.status.localeCompare(b.status));
    expect(won).toMatchObject({ status: "fulfilled", value: { status: "success" } });
    for (const outcome of lost) {
      expect(outcome.status).toBe("rejected");
      // The second one is told once the first one has ended.
      expect(String((outcome as PromiseRejectedResult).reason)).toMatch(/already.*claimed|not suspended/i);
    }
  });

  it("runs parallel steps and loops", async () => {
    const steps = Array.from({ length: 10 }, (_, n) => step(`p${n}`, async () => ({ n })));
    const wide = createWorkflow({ id: "wide", inputSchema: any, outputSchema: any })
      .parallel(steps as any)
      .then(
        step("sum", async ({ inputData }) =>
          Object.values(inputData as Record<string, { n: number }>).map(({ n }) => n),
        ),
      )
      .foreach(
        step("each", async ({ inputData }) => inputData * 2),
        { concurrency: 3 },
      )
      .commit();
    const store = storeAt(place(kind));
    const run = await mastraOf(store, { wide }).getWorkflow("wide").createRun({ runId: "r" });
    const outcome = await run.start({ inputData: {} });
    const wanted = Array.from({ length: 10 }, (_, n) => 2 * n);
    expect(outcome).toMatchObject({ status: "success", result: wanted });
    const loaded = await store.stores.workflows.loadWorkflowSnapshot({ workflowName: "wide", runId: "r" });
    expect(loaded).toMatchObject({
      status: "success",
      context: { p9: { output: { n: 9 } }, each: { output: wanted } },
    });
  });

  it("approves a tool after a restart", async () => {
    const sent: string[] = [];
    const agentOf = (script: Part[][]) => {
      const model = scripted(script) as never;
      const send = createTool({
        id: "send",
        description: "Sends a mail",
        inputSchema: z.object({ to: z.string() }),
        requireApproval: true,
        execute: async ({ to }: { to: string }) => {
          sent.push(to);
          return { ok: true };
        },
      });
      return new Agent({ id: "mailer", name: "mailer", instructions: "Send.", model, tools: { send } });
    };
    const store = storeAt(place(kind));
    const mastra = (...script: Part[][]) =>
      new Mastra({ storage: store, agents: { mailer: agentOf(script) }, logger: false });
    const first = await mastra(call("send", { to: "bob" }))
      .getAgent("mailer")
      .stream("mail bob");
    const chunks: string[] = [];
    for await (const chunk of first.fullStream) chunks.push(chunk.type);
    expect(chunks).toContain("tool-call-approval");
    expect(sent).toEqual([]);
    expect((await store.stores.workflows.listWorkflowRuns()).total).toBeGreaterThan(0);
    const second = await mastra(say("done"))
      .getAgent("mailer")
      .approveToolCall({ runId: first.runId, toolCallId: "call-send" });
    for await (const chunk of second.fullStream) chunks.push(chunk.type);
    expect(sent).toEqual(["bob"]);
    expect(chunks).toContain("text-delta");
    expect((await store.stores.workflows.listWorkflowRuns()).total).toBe(0);
  });
});

describe.each(sharedKinds)("processes with Mastra over %s", (kind: Kind) => {
  const processOf = (args: string[], onLine?: Parameters<typeof start>[2]) =>
    start("../../integration/mastra/fixtures/order.mjs", args, onLine);
  const file = () => join(mkdtempSync(join(tmpdir(), "forkpoint-test-")), "steps");
  const runsOf = (path: string) => readFileSync(path, "utf8").trim().split("\n").length;

  it("continue a run whose process was killed in a step", async () => {
    const [target, steps] = [place(kind), file()];
    await processOf(["start", target, "r"]);
    expect(await processOf(["hang", target, "r", steps])).toMatchObject({ signal: "SIGKILL", lines: [] });
    expect(await processOf(["restart", target, "r", steps])).toMatchObject({
      lines: ["success book, success pen"],
      errors: "",
    });
    expect(runsOf(steps)).toBe(3);
  });
});

describe.each([durable])("long runs over %s", (kind) => {
  it("take little more than their results", { timeout: 120_000 }, async () => {
    const text = (n: number) =>
      Array.from({ length: 300 }, (_, at) => `w${(n * 7919 + at * 104_729) % 9_973}`).join(" ");
    let chain = createWorkflow({ id: "long", inputSchema: any, outputSchema: any }) as any;
    for (let n = 0; n < 50; n++) chain = chain.then(step(`s${n}`, async () => ({ text: text(n) })));
    const store = storeAt(place(kind));
    let handed = 0;
    const { workflows } = store.stores;
    const persist = workflows.persistWorkflowSnapshot.bind(workflows);
    workflows.persistWorkflowSnapshot = (args) => {
      handed += JSON.stringify(args.snapshot).length;
      return persist(args);
    };
    const run = await mastraOf(store, { long: chain.commit() }).getWorkflow("long").createRun({ runId: "r" });
    expect((await run.start({ inputData: {} })).status).toBe("success");
    const { checkpoints, storedBytes } = await store.stats();
    expect(checkpoints).toBeGreaterThan(100);
    expect(storedBytes).toBeLessThan(handed / 20);
  });
});
