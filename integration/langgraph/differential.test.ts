// Compares channels that are put together from kept bytes with what LangGraph's serializer writes.
// FORKPOINT_FAULT_DIFFERENTIAL_MS sets how long.
// @module-tag slow
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { expect, it, onTestFinished } from "vitest";
import { amount, randomBelow, repeat, seed } from "../../__test__/faults/faults.js";
import { Mutations } from "../../__test__/incremental/mutations.js";

const file = "integration/langgraph/differential.test.ts";
const variable = "FORKPOINT_FAULT_DIFFERENTIAL_MS";
const ms = amount(variable, 6_000);
/** A slow machine takes longer than that, to make at least so many saves from kept bytes. */
const LEAST = 200;
const LIMITS = [0, 100 << 10, 300 << 10, 64 << 20];

// The package does not export these modules, so the test imports them by their paths.
const path = (name: string) => new URL(`node_modules/forkpoint/dist/inner/${name}.js`, import.meta.url).href;
type Bytes = Uint8Array | { readonly whole: Uint8Array };
const { toJson } = (await import(path("contracts/langgraph/json"))) as {
  toJson(value: unknown, serde: object): Bytes | undefined;
};
const { limitKeptBytes } = (await import(path("bridge/incremental/memory"))) as {
  limitKeptBytes(bytes?: number): void;
};

/** A message whose content depends on what no other code sees. */
class Private extends AIMessage {
  #count = 0;
  override get lc_attributes() {
    return { count: this.#count };
  }
  add() {
    this.#count += 1;
  }
}

it("every channel is what LangGraph's serializer writes", { timeout: ms + 60_000 }, async () => {
  onTestFinished(() => limitKeptBytes());
  const { serde } = new MemorySaver();
  const below = randomBelow(seed);
  const mutations = new Mutations(seed, [undefined]);
  let made = 0;
  const message = (): BaseMessage => {
    made += 1;
    const kind = below(4);
    if (kind === 0) return new AIMessage({ content: [{ type: "text", text: `${made}` }], id: `${made}` });
    if (kind === 1) return new ToolMessage({ content: "found", tool_call_id: `${made}`, artifact: { made } });
    return new HumanMessage({ content: `message ${made}`, additional_kwargs: { made } });
  };
  const make = () => ({
    state: mutations.state(),
    chat: Array.from({ length: 3 + below(25) }, message),
  });
  const mutateChat = (chat: BaseMessage[]): BaseMessage[] => {
    const one = chat[below(chat.length)]!;
    const kind = below(9);
    if (kind === 0) one.content = `changed ${made++}`;
    else if (kind === 1) one.additional_kwargs["more"] = { deep: [below(9), undefined] };
    else if (kind === 2) return [...chat.slice(below(3)), message()];
    else if (kind === 3) return chat.toReversed();
    else if (kind === 4 && below(9) === 0) chat.splice(below(chat.length), 1, new Private("private"));
    else if (kind === 5) for (const each of chat) if (each.constructor === Private) (each as Private).add();
    if (kind > 5) chat.push(message());
    return chat.length > 40 ? chat.slice(-20) : chat;
  };
  const sessions = Array.from({ length: 8 }, make);
  const until = Date.now() + ms;
  let [all, incremental] = [0, 0];
  while (Date.now() < until || (incremental < LEAST && all < 100 * LEAST)) {
    if (all % 500 === 0) limitKeptBytes(LIMITS[below(LIMITS.length)]);
    const at = below(sessions.length);
    if (below(60) === 0) sessions[at] = make();
    const session = sessions[at]!;
    session.state = mutations.mutate(session.state);
    session.chat = mutateChat(session.chat);
    for (const value of [session.chat, session.state.scratch, { chat: session.chat, gone: [undefined][below(1)] }]) {
      all += 1;
      const mine = toJson(value, serde);
      if (mine === undefined) continue;
      if ("whole" in mine || value === session.chat) incremental += 1;
      const [, bytes] = await serde.dumpsTyped(value);
      const same = Buffer.from("whole" in mine ? mine.whole : mine).equals(bytes);
      if (!same) expect.fail(`save ${all}: the bytes are those of another value; ${repeat(file, variable)}`);
    }
  }
  console.log(`LangGraph: seed ${seed}, ${all} saves, ${incremental} of them incremental`);
  expect(incremental, repeat(file, variable)).toBeGreaterThanOrEqual(LEAST);
});
