// Tests the serde of docs/encryption.md, with the code of the document: LangGraph's threads are encrypted, and keys can
// change.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { HumanMessage } from "@langchain/core/messages";
import { Command, MessagesAnnotation, interrupt } from "@langchain/langgraph";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { write } from "../../__test__/pages.js";
import { readPage, snippetsOf } from "../../__test__/snippets.js";
import { all, folder, open, rejection, sequence, thread } from "./helpers.js";

let serde: (keys: Record<string, number>, newest: string) => SerializerProtocol;

// The folder is here so that snippets find LangGraph and the package as in a user's project.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

beforeAll(async () => {
  const blocks = snippetsOf(readPage("docs/encryption.md"));
  const load = (name: string) => {
    write(blocks.find(({ file }) => file === `${name}.mts`)!.code, join(place, name));
    return import(/* @vite-ignore */ pathToFileURL(join(place, `${name}.mjs`)).href);
  };
  const { keyring } = await load("keyring");
  const { EncryptedSerde } = await load("encrypted-serde");
  serde = (fills, newest) => {
    const bytes = new Map(Object.entries(fills).map(([id, fill]) => [id, new Uint8Array(32).fill(fill)]));
    return new EncryptedSerde(keyring(bytes, newest));
  };
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

/** A graph with a message, a question, and an answer. */
const graph = (checkpointer: ForkpointSaver) =>
  sequence(MessagesAnnotation, {
    greet: () => ({ messages: [new HumanMessage("SECRET greeting")] }),
    ask: () => ({ messages: [new HumanMessage(interrupt<string, string>("SECRET question?"))] }),
  }).compile({ checkpointer });

const config = thread("PLAIN-thread");
const texts = ({ messages }: { messages: Array<{ text: string }> }) => messages.map(({ text }) => text);
const bytesIn = (path: string) => Buffer.concat(readdirSync(path).map((name) => readFileSync(join(path, name))));

it("a graph is encrypted, its thread's name is not, and the key changes during a question", async () => {
  const cwd = folder();
  const file = join(cwd, "graph.db");
  const first = open(file, { serde: serde({ old: 1 }, "old") });
  await graph(first).invoke({ messages: [new HumanMessage("SECRET input")] }, config);
  const second = open(file, { serde: serde({ old: 1, new: 2 }, "new") });
  const answered = await graph(second).invoke(new Command({ resume: "SECRET answer" }), config);
  expect(texts(answered)).toEqual(["SECRET input", "SECRET greeting", "SECRET answer"]);
  const listed = await all(second.list(thread("PLAIN-thread"), { filter: { source: "input" } }));
  expect(listed.map(({ metadata }) => metadata?.source)).toEqual(["input"]);

  const bytes = bytesIn(cwd);
  expect(bytes.includes("SECRET")).toBe(false);
  expect([bytes.includes("PLAIN-thread"), bytes.includes("messages")]).toEqual([true, true]);

  const withoutOld = open(file, { serde: serde({ new: 2 }, "new") });
  // The latest checkpoint needs only the new key, the older ones need the old key.
  expect(texts((await graph(withoutOld).getState(config)).values)).toHaveLength(3);
  const error = await rejection(all(withoutOld.list(config)));
  expect(error.message).toContain('the data needs the key "old", which is not in the keyring');
  const wrong = open(file, { serde: serde({ old: 9, new: 9 }, "new") });
  expect((await rejection(graph(wrong).getState(config))).message).toMatch(
    /the key "\w+" is not the one that encrypted/,
  );
});

it("a thread without encryption continues with encryption", async () => {
  const cwd = folder();
  const file = join(cwd, "graph.db");
  await graph(open(file)).invoke({ messages: [new HumanMessage("in")] }, config);
  expect(bytesIn(cwd).includes("SECRET")).toBe(true);
  const saver = open(file, { serde: serde({ key: 1 }, "key") });
  const answered = await graph(saver).invoke(new Command({ resume: "yes" }), config);
  expect(texts(answered)).toEqual(["in", "SECRET greeting", "yes"]);
});
