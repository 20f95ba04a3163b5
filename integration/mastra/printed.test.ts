// Runs the code that is printed for a suspended workflow of Mastra.
import { Mastra } from "@mastra/core/mastra";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { openInspector } from "forkpoint/inspect";
import { expect, it } from "vitest";
import { z } from "zod";
import { place } from "../../__test__/helpers.js";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
import { storeAt } from "./helpers.js";

it("the code that is printed for a suspended workflow resumes it", async () => {
  const target = place("sqlite");
  const any = z.any();
  const approve = createStep({
    id: "approve",
    inputSchema: any,
    outputSchema: any,
    suspendSchema: any,
    resumeSchema: z.object({ approved: z.boolean() }),
    execute: async ({ resumeData, suspend }) => (resumeData === undefined ? await suspend({ ask: "?" }) : resumeData),
  });
  const order = createWorkflow({ id: "order", inputSchema: any, outputSchema: any }).then(approve).commit();
  const mastra = new Mastra({ storage: storeAt(target), workflows: { order }, logger: false });
  const run = `r"'\`\${1}`;
  expect((await (await mastra.getWorkflow("order").createRun({ runId: run })).start({ inputData: {} })).status).toBe(
    "suspended",
  );
  const inspector = await openInspector(target);
  const ref = { space: "mastra", run, ns: "order" };
  const asked = await printed(inspector, ref);
  expect(asked).toHaveLength(1);
  const [{ code }] = asked as [Printed];
  await runPrinted(code, { mastra });
  const saved = await inspector.checkpoint(ref);
  expect(saved!.state).toMatchObject({ approve: { status: "success", resumePayload: { approved: true } } });
  expect(await printed(inspector, ref)).toEqual([]);
  await inspector.close();
});
