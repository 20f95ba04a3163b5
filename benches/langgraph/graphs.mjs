// The measured graphs. The nodes cost almost nothing, because all texts are made before the run.
import { prose } from "../lib/states.mjs";
import { Annotation, DeltaChannel, END, START, StateGraph } from "./packages.mjs";

/** The bytes of a message. */
const MESSAGE = 2_000;

const appended = () => Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] });

/** A message list stored as a delta channel: each step stores only the messages that it adds. */
const delta = () => new DeltaChannel((before, more) => [...before, ...more.flat()]);

/** The values that change at each step besides the messages. */
function at(step, tokens) {
  const usage = { tokens: tokens + 500 + step, retries: step % 7 };
  return { step, phase: ["search", "read", "write"][step % 3], usage };
}

/**
 * An agent that runs one node `steps` times. Every step appends a message of `size` bytes and changes counters and names.
 * `input` starts the graph. `final` is the state that it must end with.
 */
export function agent(steps, { asDelta = false, size = MESSAGE } = {}) {
  const messages = Array.from({ length: steps + 1 }, (_, index) => {
    return { role: index % 2 === 0 ? "user" : "assistant", content: prose(size - 40, index + 1) };
  });
  const small = { step: Annotation(), phase: Annotation(), lastTool: Annotation(), usage: Annotation() };
  const State = Annotation.Root({ messages: asDelta ? delta() : appended(), ...small });
  const node = ({ step, usage }) => ({ messages: [messages[step + 1]], ...at(step + 1, usage.tokens) });
  const builder = new StateGraph(State)
    .addNode("agent", node)
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ step }) => (step < steps ? "agent" : END), ["agent", END]);
  const input = { messages: [messages[0]], lastTool: "web_search", ...at(0, 0) };
  const final = { ...input, messages };
  for (let step = 1; step <= steps; step++) Object.assign(final, at(step, final.usage.tokens));
  return {
    compile: (checkpointer) => builder.compile({ checkpointer }),
    input,
    final,
    limit: steps + 10,
    // There is one checkpoint for each step, one for the input, and one for the state after the input.
    checkpoints: steps + 2,
  };
}

/** A conversation of three nodes in sequence. Each turn replaces the state of 1 KB. */
export function conversation(threads, turns) {
  const said = Array.from({ length: threads }, (_, thread) => {
    return Array.from({ length: turns }, (_, turn) => {
      // Each turn has different texts.
      const [request, plan, notes, answer] = [100, 250, 300, 300].map((length, part) => {
        return prose(length, (thread * turns + turn) * 4 + part + 1);
      });
      return { thread, turn, request, plan, notes, answer };
    });
  });
  const channels = ["thread", "turn", "request", "plan", "notes", "answer"];
  const State = Annotation.Root(Object.fromEntries(channels.map((channel) => [channel, Annotation()])));
  const says =
    (channel) =>
    ({ thread, turn }) => ({ [channel]: said[thread][turn][channel] });
  // In LangGraph a node must not have the name of a channel.
  const builder = new StateGraph(State)
    .addNode("planner", says("plan"))
    .addNode("reader", says("notes"))
    .addNode("writer", says("answer"))
    .addEdge(START, "planner")
    .addEdge("planner", "reader")
    .addEdge("reader", "writer");
  return {
    compile: (checkpointer) => builder.compile({ checkpointer }),
    input: (thread, turn) => ({ thread, turn, request: said[thread][turn].request }),
    final: (thread) => said[thread].at(-1),
    checkpoints: turns * 5,
  };
}

/**
 * The config of a thread's root graph. It sets the empty namespace, because a saver lists all namespaces if no
 * namespace is set.
 */
export const thread = (thread_id = "thread") => ({ configurable: { thread_id, checkpoint_ns: "" } });
