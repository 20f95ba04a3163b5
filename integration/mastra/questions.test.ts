// Tests what the inspector shows of a suspended workflow, and runs the code that is printed for it.
import { Mastra } from "@mastra/core";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { runPrinted } from "../../__test__/printed.js";
import { storeAt } from "./helpers.js";

it("shows the steps that are suspended, with what they ask, and code that resumes each", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const order = z.object({ id: z.number() });
  const resumeSchema = z.object({ approved: z.boolean() });
  const gate = (id: string, nested = false) =>
    createStep({
      id,
      inputSchema: order,
      outputSchema: order,
      suspendSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
      resumeSchema,
      execute: async ({ inputData, resumeData, suspend }) =>
        resumeData === undefined
          ? await suspend({ question: `${id} ${nested ? "inside" : "outside"}?`, choices: ["yes", "no"] })
          : inputData,
    });
  const schemas = { inputSchema: order, outputSchema: order };
  const inner = createWorkflow({ id: "inner", ...schemas })
    .then(gate("deep", true))
    .commit();
  const outer = createWorkflow({ id: "outer", ...schemas })
    .then(gate("approve"))
    .then(inner as never)
    .commit();
  const mastra = new Mastra({ storage: storeAt(store), workflows: { outer }, logger: false });
  const name = `a "quoted" \u2028 '\`\${1} run`;
  const run = await mastra.getWorkflow("outer").createRun({ runId: name });
  expect((await run.start({ inputData: { id: 1 } })).status).toBe("suspended");
  const inspector = await openInspector(store);
  const ref = { space: "mastra", run: name, ns: "outer" };
  for (const [node, text] of [
    ["approve", "approve outside?"],
    ["inner", "deep inside?"],
  ]) {
    const [question, ...others] = await inspector.questions(ref);
    expect(others).toEqual([]);
    expect(question).toMatchObject({ id: node, node, text, choices: ["yes", "no"], canAnswer: false });
    await runPrinted(question!.code, { mastra });
  }
  expect(await inspector.questions(ref)).toEqual([]);
  expect((await inspector.run(ref))!.status).toBe("finished");
  const saved = await inspector.checkpoint(ref);
  expect(saved!.state).toMatchObject({ approve: { status: "success", resumePayload: { approved: true } } });
});
