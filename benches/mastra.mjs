// Measures workflows and the memory of Mastra: the bytes and the time of a run of 100 steps, of many short runs, and of conversations,
// beside Mastra's own stores. Run:
// `npm run bench -- mastra [--quick] [--write]`.
import { inTurns, clock, sized } from "./lib/measure.mjs";
import { inFolder, mastraCore, onDisk } from "./lib/peers.mjs";
import { bytes, compared, machine, print, progress, table, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";
import { memoryBytes, memoryRows } from "./mastra/memory.mjs";
import { rowsOf } from "./mastra/rows.mjs";

const { InMemoryStore, LibSQLStore, ForkpointMastraStore, Agent, Mastra, createStep, createTool, createWorkflow, z } =
  await mastraCore();
const STEPS = sized(100, 10);
const RUNS = sized(100, 10);

const any = z.any();
const step = (id, execute) =>
  createStep({ id, inputSchema: any, outputSchema: any, suspendSchema: any, resumeSchema: any, execute });

/** A workflow whose steps return 2 KB each. */
function long() {
  let chain = createWorkflow({ id: "long", inputSchema: any, outputSchema: any });
  for (let n = 0; n < STEPS; n++) chain = chain.then(step(`step-${n}`, async () => ({ text: prose(2_000, n) })));
  return chain.commit();
}

/** A workflow of three steps, of which the second one waits for a human. */
const short = () =>
  createWorkflow({ id: "short", inputSchema: any, outputSchema: any })
    .then(step("a", async () => ({ a: 1 })))
    .then(step("b", async ({ resumeData, suspend }) => (resumeData ? { b: 1 } : suspend({}))))
    .then(step("c", async () => ({ c: 1 })))
    .commit();

const mastraOf = (storage) => new Mastra({ storage, workflows: { long: long(), short: short() }, logger: false });
const runOf = (mastra, name, runId) => mastra.getWorkflow(name).createRun({ runId });

async function suspended(mastra, runId) {
  await (await runOf(mastra, "short", runId)).start({ inputData: {} });
  await (await runOf(mastra, "short", runId)).resume({ step: "b", resumeData: {} });
}

const doGenerate = () => Promise.reject(new Error("only streams"));

/** An agent that asks for a tool, which a human must approve. */
function mailer() {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "tool-call", toolCallId: "c1", toolName: "send", input: "{}" },
    { type: "finish", finishReason: "tool-calls", usage },
  ];
  const doStream = async () => ({ stream: ReadableStream.from(parts) });
  const model = {
    specificationVersion: "v2",
    provider: "bench",
    modelId: "m",
    supportedUrls: {},
    doGenerate,
    doStream,
  };
  const send = createTool({
    id: "send",
    description: "Sends",
    inputSchema: any,
    requireApproval: true,
    execute: async () => ({}),
  });
  return new Agent({ id: "mailer", name: "mailer", instructions: "Send.", model, tools: { send } });
}

/** Counts the bytes of the JSON of all snapshots that a storage is handed. */
function counting({ stores: { workflows } }) {
  const counted = { bytes: 0 };
  const persist = workflows.persistWorkflowSnapshot.bind(workflows);
  workflows.persistWorkflowSnapshot = (args) => {
    counted.bytes += JSON.stringify(args.snapshot).length;
    return persist(args);
  };
  return counted;
}

machine();
await inFolder(async (path) => {
  const open = {
    ours: (name) => new ForkpointMastraStore(path(`${name}.db`)),
    libsql: (name) => new LibSQLStore({ id: "libsql", url: `file:${path(`${name}.libsql`)}` }),
    memory: () => new InMemoryStore(),
  };
  const sides = Object.keys(open);
  progress("long runs");
  let made = 0;
  const runs = await inTurns(
    sides,
    async (side) => {
      const storage = open[side](`long-${made++}`);
      await storage.init?.();
      const mastra = mastraOf(storage);
      const result = await clock(STEPS, async () => {
        await (await runOf(mastra, "long", "run")).start({ inputData: {} });
      });
      await storage.close?.();
      return result;
    },
    { rounds: sized(5, 1) },
  );
  progress("short runs");
  const shorts = await inTurns(
    sides,
    async (side) => {
      const storage = open[side](`short-${made++}`);
      await storage.init?.();
      const mastra = mastraOf(storage);
      const result = await clock(RUNS, async () => {
        for (let n = 0; n < RUNS; n++) await suspended(mastra, `run-${n}`);
      });
      await storage.close?.();
      return result;
    },
    { rounds: sized(5, 1) },
  );
  compared([
    ...rowsOf(`a step of a run of ${STEPS} steps of 2 KB`, runs),
    ...rowsOf("a run of three steps that is suspended and resumed", shorts),
    ...(await memoryRows(open)),
  ]);

  progress("bytes");
  const sizes = {};
  let counted;
  for (const side of ["ours", "libsql"]) {
    const storage = open[side]("bytes");
    await storage.init?.();
    if (side === "ours") counted = counting(storage);
    await (await runOf(mastraOf(storage), "long", "run")).start({ inputData: {} });
    await storage.close();
    sizes[side] = onDisk(path(side === "ours" ? "bytes.db" : "bytes.libsql"));
  }
  const approval = open.ours("approval");
  const asked = counting(approval);
  const mastra = new Mastra({ storage: approval, agents: { mailer: mailer() }, logger: false });
  for await (const _chunk of (await mastra.getAgent("mailer").stream(prose(80_000, 1))).fullStream);
  await approval.close();
  const kept = onDisk(path("approval.db"));
  print();
  table(
    [
      "on disk",
      "Forkpoint, all versions",
      "the JSON of all versions",
      "ratio",
      "LibSQLStore, the last version",
      "ratio",
    ],
    [
      [
        `a run of ${STEPS} steps of 2 KB`,
        bytes(sizes.ours),
        bytes(counted.bytes),
        `x${(counted.bytes / sizes.ours).toFixed(0)}`,
        bytes(sizes.libsql),
        `x${(sizes.libsql / sizes.ours).toFixed(1)}`,
      ],
      [
        "an agent with 80 KB of text that waits for an approval",
        bytes(kept),
        bytes(asked.bytes),
        `x${(asked.bytes / kept).toFixed(1)}`,
        "",
        "",
      ],
      await memoryBytes(open, path),
    ],
  );
});
write("mastra");
