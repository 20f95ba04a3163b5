// A stand-in for a model. It needs no network and no key, and writes slowly, so that you can reload the page in the middle.
import { setTimeout as sleep } from "node:timers/promises";
import { generateId } from "ai";
import { MockLanguageModelV4 } from "ai/test";

/** Waits before a word. */
const pause = (_at) => sleep(150);

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = (reason) => ({ type: "finish", finishReason: { unified: reason, raw: reason }, usage });
const textOf = ({ content }) => content.map(({ text = "" }) => text).join("");

async function* says(text) {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "text" };
  for (const [at, delta] of text.match(/\S+\s*/g).entries()) {
    await pause(at);
    yield { type: "text-delta", id: "text", delta };
  }
  yield { type: "text-end", id: "text" };
  yield finish("stop");
}

async function* calls(toolName, input) {
  yield { type: "stream-start", warnings: [] };
  yield { type: "tool-call", toolCallId: generateId(), toolName, input: JSON.stringify(input) };
  yield finish("tool-calls");
}

let answers = 0;

function answer(prompt) {
  const last = prompt.at(-1);
  if (last.role === "tool") {
    const isDenied = last.content.some(({ output }) => output?.type === "execution-denied");
    return says(
      isDenied ? "Fine, I have not sent it." : "It is sent. The tool ran once, whoever else pressed the button.",
    );
  }
  const question = textOf(last).trim();
  const to = /^mail (\S+)/i.exec(question)?.[1];
  if (to) return calls("sendMail", { to, text: "Hello from the chat" });
  answers += 1;
  return says(
    `This is answer ${answers} to "${question}". It comes slowly, one word at a time. Reload the page before it ends: the words ` +
      "that you have seen come back, and the others follow. Open the page in a second tab, and both show the same answer. " +
      "Then edit your question or ask for another answer. The earlier ones stay in the list of versions.",
  );
}

// A real model goes here, for example: import { openai } from "@ai-sdk/openai"; export const model = openai("gpt-5");
export const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => ({ stream: ReadableStream.from(answer(prompt)) }),
});
