// The messages of a long conversation, about 2 KB each.
import { prose } from "../lib/states.mjs";

const texts = new Map();

/** A text that is made once. The messages around it are new objects each time, so that no store knows them. */
function text(length, seed) {
  const key = `${length} ${seed}`;
  if (!texts.has(key)) texts.set(key, prose(length, seed));
  return texts.get(key);
}

function flat(seed) {
  return { role: seed % 2 === 0 ? "user" : "assistant", content: text(1_940, seed + 1) };
}

/** A message with the objects of a tool call in it. V8 takes about twice as long to write it as a flat one. */
function nested(seed) {
  const args = { query: text(100, seed * 3 + 1), region: "eu", limit: 10 };
  return {
    role: "assistant",
    content: [{ type: "text", text: text(1_500, seed + 1) }],
    toolCalls: [{ id: `call-${seed}`, name: "web_search", args }],
    usage: { input: 500 + (seed % 90), output: 120 },
  };
}

export function deepFreeze(value) {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/**
 * The kinds of messages: `make(seed)` makes one. With `copied`, each step gets a copy of all messages, as from a
 * framework that reads its state back from a store.
 */
export const KINDS = {
  flat: { make: flat },
  nested: { make: nested },
  "deep-frozen": { make: (seed) => deepFreeze(nested(seed)) },
  "flat, copied at each step": { make: flat, copied: true },
};
