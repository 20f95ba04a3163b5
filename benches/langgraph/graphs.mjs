// The graphs that are run. Their nodes cost next to nothing: what they say is made beforehand.
import { prose } from "../lib/states.mjs";
import { Annotation, DeltaChannel, END, START, StateGraph } from "./packages.mjs";

const MESSAGE = 2_000;

const appended = () => Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] });

/** The same list, stored as what each step adds to it. */
const delta = () => new DeltaChannel((before, more) => [...before, ...more.flat()]);

/** What changes beside the messages. */
function at(step, tokens) {
  const usage = { tokens: tokens + 500 + step, retries: step % 7 };
  return { step, phase: ["search", "read", "write"][step % 3], usage };
}

/**
 * An agent that goes round one node so many times: every step appends a message of 2 KB and changes counters and names
 * beside it. `input` starts it, `final` is what it must come to.
 */
export function agent(steps, { asDelta = false } = {}) {
  const messages = Array.from({ length: steps + 1 }, (_, index) => {
    return { role: index % 2 === 0 ? "user" : "assistant", content: prose(MESSAGE - 40, index + 1) };
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
    // The input and what came of reading it have one each.
    checkpoints: steps + 2,
  };
}

/** Three nodes one after the other, whose state of 1 KB is replaced at every turn of a conversation. */
export function conversation(threads, turns) {
  const said = Array.from({ length: threads }, (_, thread) => {
    return Array.from({ length: turns }, (_, turn) => {
      // No two turns say the same.
      const [request, plan, notes, answer] = [100, 250, 300, 300].map((length, part) => {
        return prose(length, (thread * turns + turn) * 4 + part + 1);
      });
      return { thread, turn, request, plan, notes, answer };
    });
  });
  const channels = ["thread", "turn", "request", "plan", "notes", "answer"];
  const State = Annotation.Root(Object.fromEntries(channels.map((channel) => [channel, Annotation()])));
  const says = (channel) => ({ thread, turn }) => ({ [channel]: said[thread][turn][channel] });
  // A node may not be called as a channel is.
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

/** A thread of the graph itself, as LangGraph asks for it: without the namespace, all of them are meant. */
export const thread = (thread_id = "thread") => ({ configurable: { thread_id, checkpoint_ns: "" } });
