/** Reads the questions of human nodes. */

import type { Context } from "../../plugin/context.js";
import type { Kept, Live, Questions } from "../../plugin/questions.js";
import type { Row } from "../../plugin/wire.js";
import { answerNode, answeredHere, humanNodes } from "./answer.js";
import type { Checkpoint } from "./contract.js";
import { answerOf } from "./status.js";
import { restore } from "./stored.js";
import { agentos, openFound } from "./wire.js";

async function nodesOf({ engine }: Context, { id }: Row, pick: (checkpoint: Checkpoint) => string[]): Promise<Live[]> {
  const stored = await agentos.find(engine.native, "get", { checkpointId: id }, openFound);
  if (stored === null) return [];
  const checkpoint = restore(engine, stored);
  return pick(checkpoint).map((node) => {
    const result = checkpoint.nodeResults[node]!;
    return { id: node, node, value: result.output, answered: answerOf(checkpoint, node) };
  });
}

export const questions: Questions = {
  live: (context, _, row) => nodesOf(context, row, humanNodes),
  /** Later checkpoints contain an answer too. It belongs to the first, whose node has not completed. */
  async kept(context, _, row) {
    const all = await nodesOf(context, row, (checkpoint) => [...humanNodes(checkpoint), ...answeredHere(checkpoint)]);
    return all.filter((each): each is Kept => each.answered !== null);
  },
  answer: (context, native, { run }, node, answer) => answerNode({ ...context.engine, native }, run, node, answer),
  // Answers of AgentOS itself have this form.
  usual: {
    approve: { approved: true },
    reject: (reason) => ({ approved: false, ...(reason !== undefined && { reason }) }),
  },
  code: (run, node, answer) => `import { recover } from "forkpoint/agentos";

const answer = ${JSON.stringify(answer)};
await recover(graph, store, {
  runs: [${JSON.stringify(run)}],
  onWaiting: ({ nodeId }) => (nodeId === ${JSON.stringify(node)} ? answer : undefined),
});`,
};
