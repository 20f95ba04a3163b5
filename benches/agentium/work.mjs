// The work that all sides do: an agent's state, and cheap steps that each change a small part of the state.
import { prose } from "../lib/states.mjs";

/** Number of messages in the state when each step replaces one of them. */
const REPLACEABLE = 20;

function message(length, seed) {
  const role = seed % 2 === 0 ? "user" : "assistant";
  // 36 is the JSON size of the message without its text.
  return { role, content: prose(Math.max(Math.round(length) - 36, 1), seed + 1) };
}

/**
 * Makes runs of `steps` steps that end with a state of `size` bytes. Every step appends a message of at most 2 KB and
 * at most `size / 50` bytes, and changes counters before and after the messages. With `replace`, the state has its full
 * size from the beginning and each step replaces one message of twenty. No two runs have a message in common.
 */
export function workOf({ size, steps: count, runs, replace = false }) {
  const each = replace ? size / REPLACEABLE : Math.min(size / 50, 2_000, size / count);
  const before = replace ? REPLACEABLE : Math.max(Math.round(size / each) - count, 0);
  // The messages are made before the clock starts, so that the time of a step is only the time of the framework.
  const messages = Array.from({ length: runs }, (_, run) => {
    return Array.from({ length: before + count }, (_, at) => message(each, run * 100_003 + at));
  });
  const run = (draft) => {
    const { run, step } = draft;
    const fresh = messages[run][before + step];
    return {
      step: step + 1,
      phase: ["search", "read", "write"][step % 3],
      messages: replace ? draft.messages.with((step * 7) % before, fresh) : [...draft.messages, fresh],
      usage: { tokens: draft.usage.tokens + 500 + step, retries: step % 7 },
    };
  };
  const steps = Array.from({ length: count }, (_, step) => ({ name: `step-${step}`, run }));
  const cases = Array.from({ length: runs }, (_, run) => ({
    runId: `run-${run}`,
    initialState: {
      run,
      step: 0,
      phase: "start",
      messages: messages[run].slice(0, before),
      lastTool: "web_search",
      usage: { tokens: 0, retries: 0 },
    },
  }));
  return { steps, cases };
}

/** Returns the final state that a run must have. */
export function expected({ steps }, { initialState }) {
  const state = { ...initialState };
  for (const { run } of steps) Object.assign(state, run(state));
  return state;
}
