// Puts short threads through a saver of LangGraph.
import { uuid6 } from "../langgraph/packages.mjs";
import { putsTo } from "../lib/puts.mjs";
import { fill, LENGTH, messagesOf, threadId, userOf } from "./filling.mjs";

/** Puts the checkpoints of a thread, the oldest first. Resolves to the config of the newest one. */
export async function putThread(saver, thread, number, length = LENGTH) {
  const put = putsTo(saver, uuid6, thread, { metadata: { user: userOf(number) } });
  const messages = messagesOf(number, length);
  let config;
  for (let step = 1; step <= length; step++) config = await put({ messages: messages.slice(0, step) }, ["messages"]);
  return config;
}

export const putThreads = (saver, threads) => fill(threads, (number) => putThread(saver, threadId(number), number));
