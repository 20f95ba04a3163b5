// The states that the benchmarks store. They resemble the states of an agent.

const words =
  "the agent reads a page and then writes what it found into its notes before it asks for the next tool call with " +
  "these arguments because the user wanted an answer about storage costs in three regions";
const vocabulary = words.split(" ");

/** The same in Chinese. V8 holds such a text with two bytes a character. */
const twoByteVocabulary =
  "智能体 读取 一页 然后 写下 它 在 笔记 里 发现 的 内容 接着 用 这些 参数 请求 下一次 工具 调用 因为 用户 想 知道 三个 地区 的 存储 费用".split(
    " ",
  );

/** Text that compresses about as well as conversation: words of a fixed vocabulary in an order that does not repeat. */
export function prose(length, seed) {
  return text(vocabulary, length, seed, " ");
}

/** The same in Chinese: `length` is in characters. */
export function twoByteProse(length, seed) {
  return text(twoByteVocabulary, length, seed, "");
}

function text(words, length, seed, space) {
  let state = seed >>> 0 || 1;
  let text = "";
  while (text.length < length) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    text += `${words[(state >>> 0) % words.length]}${state % 11 === 0 ? `-${state >>> 16}` : ""}${space}`;
  }
  return text.slice(0, length);
}

function message(length, seed, write) {
  return { role: seed % 2 === 0 ? "user" : "assistant", content: write(length - 60, seed + 1) };
}

/**
 * The checkpoint number `index` of `runs` runs that save in turns. Each run cycles through the same nodes. Its 10
 * messages are all new, so a delta saves no space. `size` is in characters, and `write` makes the texts.
 */
export function checkpoint(index, { size = 10_000, runs = 20, nodes = 25, write = prose } = {}) {
  const messages = Array.from({ length: 10 }, (_, i) => message(size / 10, index * 10 + i, write));
  return {
    id: `checkpoint-${index}`,
    graphId: "graph-bench-1",
    runId: `run-${index % runs}`,
    nodeId: `node-${Math.floor(index / runs) % nodes}`,
    timestamp: 1_700_000_000_000 + index,
    state: { input: { topic: "storage" }, scratch: { messages, step: index }, artifacts: {}, diagnostics: {} },
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
  };
}

/**
 * A run with a growing state. Every step appends a message and changes counters before and after the messages. When the
 * messages have `most` bytes, a step replaces a note of 200 bytes instead. The state is the same object at every step,
 * as in a framework.
 */
export function growingRun({ runId = "run-growing", grow = 2_000, most = 2_000_000, write = prose } = {}) {
  const messages = [];
  const scratch = { step: 0, phase: "search", note: "", messages, lastTool: "web_search", retries: 0 };
  const diagnostics = { totalTokensUsed: 0, totalDurationMs: 0, nodeTimings: {}, checkpointsSaved: 0 };
  const state = { input: { topic: "storage" }, scratch, artifacts: {}, diagnostics };
  return {
    /** Runs one step and returns its checkpoint. */
    step() {
      const step = ++scratch.step;
      if (messages.length * grow < most) messages.push(message(grow, step, write));
      else scratch.note = prose(200, step);
      scratch.phase = ["search", "read", "write"][step % 3];
      scratch.retries = step % 7;
      diagnostics.totalTokensUsed += 500 + (step % 100);
      diagnostics.totalDurationMs += 1200 + (step % 300);
      diagnostics.checkpointsSaved = step;
      const startMs = step * 1300;
      diagnostics.nodeTimings[`node-${step % 25}`] = { startMs, endMs: startMs + 1200, tokensUsed: 500 };
      return {
        id: `${runId}-${step}`,
        graphId: "graph-bench-1",
        runId,
        nodeId: `node-${step % 25}`,
        timestamp: 1_700_000_000_000 + step,
        state,
        nodeResults: {},
        visitedNodes: [],
        pendingEdges: [],
      };
    },
  };
}
