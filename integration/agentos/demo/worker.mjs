// Runs the agent in its own process: `worker.mjs <database> <effects> run [node to hang in]` or `... resume <run id>`.
import { CheckpointStore } from "forkpoint";
import { compile } from "./refund.mjs";

const [database, effects, command, argument] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const store = new CheckpointStore(database);
const resuming = command === "resume";
const graph = compile(store, {
  effects,
  hangIn: resuming ? undefined : argument,
  onHang: () => say({ hangs: true }),
});
const output = await (resuming ? graph.resume(argument) : graph.invoke({ request: "refund", order: "A-1047" }));
await store.close();
say({ output, graphId: graph.toIR().id });
