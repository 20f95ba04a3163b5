// Tests the plain Node server of the guide as a browser uses it, and over a kill of its process.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { UIMessage } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { write } from "../../__test__/pages.js";
import { pages, snippetsOf } from "../../__test__/snippets.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/chat.mjs";
import { chatsAt, texts } from "./helpers.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const standIn = new URL("fixtures/stand-in.mjs", import.meta.url).href;
const named = snippetsOf(pages.find(({ path }) => path === "docs/ai.md")!).filter(({ file }) => file !== undefined);

/** A folder with the guide's files, in which the SDK is found. */
function guide(): string {
  const folder = mkdtempSync(join(here, ".snippets-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const { file, code } of named) write(code, join(folder, file!.replace(/\.mts$/, "")));
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(["handlers.mjs", "server.mjs"]));
  return folder;
}

async function serve(cwd: string): Promise<{ child: ChildProcess; origin: string }> {
  // The package is linked here, and finds the SDK beside the link.
  const options = `--preserve-symlinks --import ${standIn}`;
  const env = { ...process.env, NODE_OPTIONS: options, PORT: "0", FORKPOINT_TEST_DELAY: "30" };
  const child = spawn(process.execPath, ["server.mjs"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, origin: `http://127.0.0.1:${/port (\d+)/.exec(line)![1]}` };
}

interface BrowserChat {
  messages: UIMessage[];
  status: string;
  sendMessage(message: object): Promise<void>;
  resumeStream(): Promise<void>;
  regenerate(): Promise<void>;
}

/** A browser: it sends its requests to the server. */
const browser = (origin: string, messages: UIMessage[] = []): BrowserChat => {
  const send = async ({ url, method, body }: Request) => {
    const path = new URL(url).pathname;
    return fetch(origin + path, { method, ...(body && { body: await new Response(body).text() }) });
  };
  return new program.TestChat("c", messages, { POST: send, GET: send }) as BrowserChat;
};

test("the guide's server answers, resumes, and goes on after a kill", async () => {
  const folder = guide();
  const first = await serve(folder);
  const chat = browser(first.origin);
  await chat.sendMessage({ text: "one" });
  expect(texts(chat.messages)).toEqual(["one", "answer 1 to one"]);
  const words = Array.from({ length: 60 }, (_, n) => `word${n}`).join(" ");
  const sending = chat.sendMessage({ text: words });
  while (chat.messages.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  const tab = browser(first.origin, chat.messages.slice(0, 3));
  const resuming = tab.resumeStream();
  while (tab.messages.length < 4 || texts(tab.messages)[3]!.length < 30) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  first.child.kill("SIGKILL");
  await Promise.allSettled([sending, resuming]);

  const chats = chatsAt(join(folder, "agent.db"));
  const stored = await chats.loadChat("c");
  expect(texts(stored)).toEqual(["one", "answer 1 to one", words]);
  const second = await serve(folder);
  const reloaded = browser(second.origin, stored);
  await reloaded.resumeStream();
  expect(`answer 3 to ${words}`.startsWith(texts(reloaded.messages)[3]!)).toBe(true);
  await reloaded.regenerate();
  expect(texts(reloaded.messages)[3]).toBe(`answer 3 to ${words}`);
  while ((await chats.readChat("c"))!.activeStreamId !== null) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await chats.loadChat("c")).toEqual(reloaded.messages);
  expect((await fetch(`${second.origin}/api/chat/c/stream`)).status).toBe(204);
  expect((await fetch(`${second.origin}/api/chat/unknown/stream`)).status).toBe(204);
  expect((await fetch(`${second.origin}/other`)).status).toBe(404);
});

test("the guide's server stops an answer, and the chat goes on", async () => {
  const { origin } = await serve(guide());
  const chat = browser(origin);
  const words = Array.from({ length: 200 }, (_, n) => `word${n}`).join(" ");
  const sending = chat.sendMessage({ text: words });
  while (chat.messages.length < 2 || texts(chat.messages)[1]!.length < 30) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const stop = () => fetch(`${origin}/api/chat/c/stop`, { method: "POST" });
  const message = (await (await stop()).json()) as UIMessage;
  await sending;
  expect(message.id).toBe(chat.messages[1]!.id);
  expect(texts([message])[0]).toContain("answer 1 to word0 word1");
  expect(`answer 1 to ${words}`.startsWith(texts([message])[0]!)).toBe(true);
  chat.messages = [chat.messages[0]!, message];
  await chat.sendMessage({ text: "Shorter!" });
  expect(texts(chat.messages).slice(2)).toEqual(["Shorter!", "answer 3 to Shorter!"]);
  // The answer has ended: nothing is stopped.
  expect(await (await stop()).json()).toEqual(chat.messages[3]);
  // The id of a stream is not that of the user's chat.
  expect((await fetch(`${origin}/api/chat/unknown/stop`, { method: "POST" })).status).toBe(403);
  expect((await fetch(`${origin}/api/chat/c/stop`)).status).toBe(404);
});
