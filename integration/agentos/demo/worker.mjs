// Runs the agent in its own process: `worker.mjs <database> <effects> run [node to hang in]` or `... recover <run id>`.
import { CheckpointStore, recover } from "forkpoint";
import { compile } from "./refund.mjs";

const [database, effects, command, argument] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const store = new CheckpointStore(database);
const recovering = command === "recover";
const graph = compile(store, {
  effects,
  hangIn: recovering ? undefined : argument,
  onHang: () => say({ hangs: true }),
});
const output = recovering
  ? (await recover(graph, store, { runs: [argument] })).runs[0].output
  : await graph.invoke({ request: "refund", order: "A-1047" });
await store.close();
say({ output, graphId: graph.toIR().id });
