// Tests the memory of agents inside the real Mastra. Models are scripted.
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore, type MastraCompositeStore, type MemoryStorage } from "@mastra/core/storage";
import { Memory } from "@mastra/memory";
import { describe, expect, it } from "vitest";
import { kinds, place, run as start, sharedKinds } from "../../__test__/helpers.js";
import { type Part, type Prompt, call, say, scripted, storeAt } from "./helpers.js";

/** The agent of a new process. */
function agentOf(storage: MastraCompositeStore, script: Part[][], prompts: Prompt[], options: object = {}): Agent {
  const memory = new Memory({ options: { lastMessages: 4, semanticRecall: false, ...options } });
  const model = scripted(script, prompts) as never;
  const assistant = new Agent({ id: "assistant", name: "assistant", instructions: "Help.", model, memory });
  return new Mastra({ storage, agents: { assistant }, logger: false }).getAgent("assistant");
}

async function ask(agent: Agent, text: string, thread = "t"): Promise<string> {
  const stream = await agent.stream(text, { memory: { thread, resource: "u" } });
  await stream.consumeStream();
  return stream.text;
}

/** Records the calls of the domain `memory`. */
function recorded(storage: MastraCompositeStore): string[] {
  const calls: string[] = [];
  const memory = storage.stores!.memory as unknown as Record<string, (args: any) => unknown>;
  for (const name of [
    "getThreadById",
    "saveThread",
    "saveMessages",
    "listMessages",
    "updateMessages",
    "updateResource",
  ]) {
    const method = memory[name]!.bind(memory);
    memory[name] = (args) => {
      calls.push(name);
      return method(args);
    };
  }
  return calls;
}

/** A conversation over three processes. */
async function conversation(storage: MastraCompositeStore) {
  const [calls, prompts, answers] = [recorded(storage), [] as Prompt[], [] as string[]];
  for (const [question, answer] of [
    ["my name is Ada", "hello Ada"],
    ["what is 1 + 1?", "2"],
    ["what is my name?", "Ada"],
    ["and now?", "still Ada"],
  ] as const) {
    answers.push(await ask(agentOf(storage, [say(answer)], prompts), question));
  }
  const memory: MemoryStorage = storage.stores!.memory!;
  const { messages, total } = await memory.listMessages({ threadId: "t", resourceId: "u" });
  const texts = messages.map(({ role, content }) => `${role}: ${content.parts.map((part: any) => part.text).join("")}`);
  const thread = (await memory.getThreadById({ threadId: "t" }))!;
  return { calls, prompts, answers, texts, total, resourceId: thread.resourceId };
}

describe.each(kinds)("agents of Mastra over %s", (kind) => {
  it("remember a conversation as over Mastra's own store", async () => {
    const [expected, found] = [await conversation(new InMemoryStore()), await conversation(storeAt(place(kind)))];
    expect(found).toEqual(expected);
    expect(found.total).toBe(8);
    expect(found.texts.slice(0, 2)).toEqual(["user: my name is Ada", "assistant: hello Ada"]);
    // The last question sees the last four messages.
    const last = found.prompts.at(-1)!.filter((text) => !text.startsWith("system"));
    expect(last).toEqual([
      "user: what is 1 + 1?",
      "assistant: 2",
      "user: what is my name?",
      "assistant: Ada",
      "user: and now?",
    ]);
  });

  it("keep what they note about a user, for all threads of the user", async () => {
    const storage = storeAt(place(kind));
    const options = { workingMemory: { enabled: true, scope: "resource", template: "- Name:" } };
    const prompts: Prompt[] = [];
    const noting = [call("updateWorkingMemory", { memory: "- Name: Ada" }), say("noted")];
    expect(await ask(agentOf(storage, noting, prompts, options), "I am Ada")).toBe("noted");
    expect(await storage.stores.memory.getResourceById({ resourceId: "u" })).toMatchObject({
      workingMemory: "- Name: Ada",
    });
    await ask(agentOf(storage, [say("Ada")], prompts, options), "who am I?", "another");
    const system = prompts
      .at(-1)!
      .filter((text) => text.startsWith("system"))
      .join();
    expect(system).toContain("- Name: Ada");
    const { threads } = await storage.stores.memory.listThreads({ filter: { resourceId: "u" } });
    expect(threads.map(({ id }) => id).toSorted()).toEqual(["another", "t"]);
  });

  it("clone a conversation, and delete it", async () => {
    const storage = storeAt(place(kind));
    const prompts: Prompt[] = [];
    const agent = agentOf(storage, [say("hello"), say("again"), say("in the copy")], prompts);
    await ask(agent, "one");
    await ask(agent, "two");
    const memory = (await agent.getMemory())! as Memory;
    const { thread } = await memory.cloneThread({ sourceThreadId: "t", newThreadId: "copy" });
    expect(thread.id).toBe("copy");
    await ask(agent, "three", "copy");
    expect(prompts.at(-1)!.slice(1)).toEqual([
      "user: one",
      "assistant: hello",
      "user: two",
      "assistant: again",
      "user: three",
    ]);
    expect((await memory.recall({ threadId: "t", resourceId: "u" })).messages).toHaveLength(4);
    await memory.deleteThread("t");
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
    expect((await memory.recall({ threadId: "copy", resourceId: "u", perPage: false })).messages).toHaveLength(6);
  });
});

describe.each(sharedKinds)("processes with agents over %s", (kind) => {
  it("keep each message that was acknowledged", async () => {
    const target = place(kind);
    const { lines, errors } = await start(
      "../../integration/mastra/fixtures/messages.mjs",
      [target, "a"],
      (line, child) => {
        if (line === "20") child.kill("SIGKILL");
      },
    );
    expect(errors).toBe("");
    const { memory } = storeAt(target).stores;
    const { messages } = await memory.listMessages({ threadId: "t", perPage: false });
    expect(messages.length).toBeGreaterThanOrEqual(lines.length);
    expect(messages.map(({ id }) => id)).toEqual(messages.map((_, n) => `a${n}`));
  });
});

// Text files have one writer at a time.
describe.each(sharedKinds.filter((kind) => kind !== "jsonl"))("several processes with agents over %s", (kind) => {
  it("change one thread at the same time, and none loses a change", { timeout: 60_000 }, async () => {
    const target = place(kind);
    const { memory } = storeAt(target).stores;
    await memory.saveThread({ thread: { id: "t", resourceId: "u", createdAt: new Date(), updatedAt: new Date() } });
    const all = ["a", "b", "c"];
    const ends = await Promise.all(
      all.map((name) => start("../../integration/mastra/fixtures/messages.mjs", [target, name, "25"])),
    );
    for (const { errors, lines } of ends) expect([errors, lines.length]).toEqual(["", 25]);
    expect(await memory.listMessages({ threadId: "t", perPage: false })).toMatchObject({ total: 75 });
    expect(Object.keys((await memory.getThreadById({ threadId: "t" }))!.metadata!)).toHaveLength(75);
    expect((await memory.getResourceById({ resourceId: "u" }))!.metadata).toMatchObject({ a: 24, b: 24, c: 24 });
  });
});
