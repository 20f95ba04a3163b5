// The coding agent: a graph with a model and tools. The state grows as that of LangChain's agent did, so that the full
// states of PostgresSaver take the sizes that LangChain has told. Nodes cost almost nothing: all texts are made before.
import { prose } from "../lib/states.mjs";
import { Annotation, DeltaChannel, END, START, StateGraph } from "../langgraph/packages.mjs";

/** How often a turn calls a tool. Each call is two checkpoints: of the model, and of the tool. */
const CALLS = 4;

/** The bytes of a turn's messages, up to this turn. Found by measuring PostgresSaver: 30 MB, 210 MB, 840 MB, 5.3 GB. */
const GROWTH = [
  { to: 20, bytes: 14_300 },
  { to: 50, bytes: 20_300 },
  { to: 100, bytes: 14_400 },
  { to: 200, bytes: 56_400 },
];
/** Postgres compresses the states: the messages are this number of times as large as their share of its tables. */
const COMPRESSED = 2.8;

/** A turn's messages: the user's, then the model's and the tool's in turns, then the answer. */
function messagesOf(turn) {
  const { bytes } = GROWTH.find(({ to }) => turn < to);
  const count = 2 * CALLS + 2;
  // A tool's result, such as a file, is eight times as long as what the model says.
  const share = (bytes * COMPRESSED) / (CALLS * 8 + CALLS + 2);
  return Array.from({ length: count }, (_, at) => {
    const isTool = at > 0 && at < count - 1 && at % 2 === 0;
    const role = at === 0 ? "user" : isTool ? "tool" : "assistant";
    return { role, content: prose(Math.round(share * (isTool ? 8 : 1)), turn * count + at + 1) };
  });
}

const appended = (before, more) => [...before, ...more];

export function codingAgent(turns, { asDelta }) {
  const all = Array.from({ length: turns }, (_, turn) => messagesOf(turn));
  const messages = asDelta
    ? new DeltaChannel((before, more) => [...before, ...more.flat()])
    : Annotation({ reducer: appended, default: () => [] });
  const State = Annotation.Root({ messages, turn: Annotation(), at: Annotation() });
  const says = ({ turn, at }) => ({ messages: [all[turn][at + 1]], at: at + 1 });
  const builder = new StateGraph(State)
    .addNode("model", says)
    .addNode("tools", says)
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ at }) => (at < 2 * CALLS + 1 ? "tools" : END), ["tools", END])
    .addEdge("tools", "model");
  return {
    compile: (checkpointer) => builder.compile({ checkpointer }),
    input: (turn) => ({ messages: [all[turn][0]], turn, at: 0 }),
    final: all.flat(),
  };
}
