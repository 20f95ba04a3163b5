// The agent of the examples: a clerk that looks up prices. Its model is a stand-in, which always gives the same answer to
// the same messages. The programs beside this file import it.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
// In your project: from "forkpoint/helix"
import { generateCheckpointId } from "forkpoint/helix";

const prices = { tea: 4, cups: 12, kettle: 30 };

/** A stand-in for a model. It asks for the price of the next item, or answers if it has all prices. */
export function model(messages, customState) {
  const items = messages.findLast(({ role }) => role === "user").content.split(", ");
  const next = items[messages.filter(({ role }) => role === "tool").length];
  if (next !== undefined) return { content: `I look up the price of ${next}.`, toolCall: { item: next } };
  const sum = Object.values(customState.cart).reduce((total, price) => total + price, 0);
  return { content: `Together ${sum * (1 - customState.discount)}.` };
}

/** The agent's only tool. */
export const lookUp = ({ item }) => prices[item];

/** A stream of chunks in a file. The chunks are numbered from 1. */
export class Stream {
  constructor(file) {
    this.file = file;
  }

  read() {
    if (!existsSync(this.file)) return [];
    return readFileSync(this.file, "utf8").split("\n").filter(Boolean).map(JSON.parse);
  }

  /** The number of the last chunk. */
  get sequence() {
    return this.read().length;
  }

  write(chunk) {
    appendFileSync(this.file, `${JSON.stringify({ sequence: this.sequence + 1, ...chunk })}\n`);
  }

  /** Drops the chunks beyond a number. */
  cut(sequence) {
    const kept = this.read().filter((chunk) => chunk.sequence <= sequence);
    writeFileSync(this.file, kept.map((chunk) => `${JSON.stringify(chunk)}\n`).join(""));
  }
}

/** Saves what the session has now, with the position of the stream. */
export async function saveCheckpoint(store, stream, sessionId, change = {}) {
  const state = { ...(await store.loadState(sessionId)), ...change };
  const { stepCount } = state;
  await store.saveCheckpoint({
    id: generateCheckpointId(sessionId, stepCount),
    sessionId,
    stepCount,
    timestamp: Date.now(),
    state,
    messageCount: await store.getMessageCount(sessionId),
    streamSequence: stream.sequence,
  });
}

/** Begins a session with a question. It is "running" when it has a checkpoint to which a crash can go back. */
export async function ask(store, stream, sessionId, question) {
  await store.createSession(sessionId, { agentType: "clerk", initialState: { cart: {}, discount: 0 } });
  await store.appendMessages(sessionId, [{ role: "user", content: question }]);
  await saveCheckpoint(store, stream, sessionId, { status: "running" });
  await store.updateStatus(sessionId, "running");
}

/** Runs steps until the model answers. `tool` may be another one than `lookUp`. Returns the answer. */
export async function work(store, stream, sessionId, tool = lookUp) {
  const { runId } = await store.startRun(sessionId, { startSequence: stream.sequence });
  for (;;) {
    const { messages } = await store.getMessages(sessionId);
    const { customState } = await store.loadState(sessionId);
    const { content, toolCall } = model(messages, customState);

    for (const word of content.split(" ")) stream.write({ type: "text", word });
    await store.appendMessages(sessionId, [{ role: "assistant", content, ...(toolCall && { toolCall }) }]);
    if (toolCall) {
      const price = await tool(toolCall);
      await store.mergeCustomState(sessionId, { cart: { ...customState.cart, [toolCall.item]: price } });
      await store.appendMessages(sessionId, [{ role: "tool", content: price }]);
    }
    await store.incrementStepCount(sessionId);

    const status = toolCall ? "running" : "completed";
    await saveCheckpoint(store, stream, sessionId, { status });
    if (toolCall) continue;
    // After the checkpoint: a session that is still "running" is recovered, and its checkpoint says that it is done.
    await store.updateStatus(sessionId, status);
    await store.endRun(sessionId, runId, { status });
    return content;
  }
}

/** Goes back to a checkpoint: the state and the messages in one transaction, then the stream. */
export async function rewind(store, stream, checkpointId) {
  const checkpoint = await store.rewindTo(checkpointId);
  stream.cut(checkpoint.streamSequence);
  return checkpoint;
}

/** Continues a session whose process was killed. No other process may work on the session. */
export async function recover(store, stream, sessionId, tool = lookUp) {
  for (const { runId, endedAt } of await store.listRuns(sessionId)) {
    if (endedAt === undefined) await store.endRun(sessionId, runId, { status: "interrupted" });
  }
  const latest = await store.getLatestCheckpoint(sessionId);
  const { state } = await rewind(store, stream, latest.id);
  return state.status === "running" ? work(store, stream, sessionId, tool) : state.messages.at(-1).content;
}
