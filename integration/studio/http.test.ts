// Tests the server of docs/http.md in a browser: two tabs of a thread, a stop button, and a reload.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { write } from "../../__test__/pages.js";
import { readPage, snippetsOf } from "../../__test__/snippets.js";
import { inBrowser, pageOf, useBrowser } from "./browser.js";

useBrowser();

const guide = "docs/http.md";
const fixtures = fileURLToPath(new URL("guide", import.meta.url));

/** Returns the text with some of its parts replaced. Each part must appear once. */
function replaced(text: string, parts: Record<string, string>): string {
  for (const [part, other] of Object.entries(parts)) {
    expect(text.split(part)).toHaveLength(2);
    text = text.replace(part, () => other);
  }
  return text;
}

/** A file of the guide. */
const fileOf = (name: string) => snippetsOf(readPage(guide)).find(({ file }) => file === name)!.code;

const asking = 'interrupt<string, boolean>("Refund order 7?");';

/** The guide's agent, which the test holds at its steps. */
const agent = () =>
  `import { hold } from "./hold.mjs";\n${replaced(fileOf("agent.mts"), {
    "await sleep(500); // your model": 'await hold("lookup");',
    '.addNode("refund", () => {': '.addNode("refund", async () => {\n    await hold("question");',
    [asking]: `${asking}\n    if (approved) await hold("refund");`,
  })}`;

/** A page that reads the stream with the guide's code. */
function page(): string {
  const [, code] = /```js\n([^]*?)```/.exec(readFileSync(new URL(`../../${guide}`, import.meta.url), "utf8"))!;
  const reading = replaced(code!, {
    '"/threads/chat-1/messages"': "`/threads/${thread}/${path}`",
    "JSON.stringify({ text })": "JSON.stringify(body)",
    "console.log(": "show(",
  });
  return replaced(readFileSync(join(fixtures, "page.html"), "utf8"), { "/* the guide's code */": reading });
}

/** The server of the guide, in a process of its own. */
class Server {
  readonly #program: Program;
  #read = 0;
  base = "";

  constructor(cwd: string) {
    this.#program = new Program([join(cwd, "main.mjs")], { cwd, env: { PORT: "0" }, deadlineMs: 120_000 });
  }

  static async start(): Promise<Server> {
    const cwd = mkdtempSync(fileURLToPath(new URL(".snippets-", import.meta.url)));
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 10 }));
    cpSync(fixtures, cwd, { recursive: true });
    writeFileSync(join(cwd, "page.html"), page());
    write(agent(), join(cwd, "agent"));
    write(fileOf("server.mts"), join(cwd, "server"));
    const server = new Server(cwd);
    const { port } = await server.reaches("listening");
    server.base = `http://localhost:${port}/`;
    return server;
  }

  /** Waits until the agent reaches a step. */
  async reaches(step: string): Promise<{ port?: number }> {
    for (;;) {
      await this.#program.until((this.#read += 1));
      const line = this.#program.said[this.#read - 1];
      if (line.event === step) return line;
    }
  }

  /** The agent continues from the step that it has reached. */
  goOn = () => this.#program.tell("go");

  /** The agent waits at no step any more. */
  free = () => this.#program.tell("free");

  count = (step: string) => this.#program.said.filter(({ event }) => event === step).length;
}

/** A page that shows a thread. */
class Tab {
  readonly #page: Page;
  constructor(page: Page) {
    this.#page = page;
  }

  static async open(...to: [Server, string]): Promise<Tab> {
    const { page } = await pageOf();
    const tab = new Tab(page);
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    onTestFinished(() => expect(errors).toEqual([]));
    await page.goto(to[0].base + to[1]);
    return tab;
  }

  press = (button: string) => this.#page.getByRole("button", { name: button }).click();
  reload = () => this.#page.reload();
  write = (text: string) => this.#page.getByRole("textbox").fill(text);
  alert = () => this.#page.getByRole("alert").textContent();
  #items = (name: string) => this.#page.getByRole("list", { name }).locator("li").allTextContents();
  /** What the stream has shown. */
  streamed = () => this.#items("Stream");
  messages = () => this.#items("Messages");

  async send(text: string): Promise<void> {
    await this.write(text);
    await this.press("Send");
  }

  /** Waits until the page shows a thread with this status and these messages. */
  async shows(status: string, messages: unknown[]): Promise<void> {
    await expect.poll(() => this.#page.getByRole("status").textContent()).toBe(status);
    await expect.poll(this.messages).toEqual(messages);
  }
}

const both = async (): Promise<{ server: Server; tabs: [Tab, Tab] }> => {
  const server = await Server.start();
  return { server, tabs: [await Tab.open(server, "chat-1"), await Tab.open(server, "chat-1")] };
};

const refused = "The agent is still answering, or was stopped.";
const found = "Order 7 cost $30.";
const question = ["Please refund order 7.", found];
const refunded = [...question, "Order 7 is refunded."];

inBrowser("the server of docs/http.md", () => {
  test("two tabs send at once: one gets the stream, the other is refused, and the thread has one turn", async () => {
    const { server, tabs } = await both();
    const texts = ["one", "two"];
    for (const [at, tab] of tabs.entries()) await tab.write(texts[at]!);
    await Promise.all(tabs.map((tab) => tab.press("Send")));
    await server.reaches("lookup");
    const alerts = async () => Promise.all(tabs.map((tab) => tab.alert()));
    await expect.poll(alerts).toContain(refused);
    const winner = (await alerts()).indexOf("");
    expect(winner).not.toBe(-1);
    server.free();
    server.goOn();
    for (const tab of tabs) await tab.shows("waiting", [texts[winner], found]);
    await expect.poll(tabs[winner]!.streamed).toEqual(["lookup", "__interrupt__"]);
    expect(await tabs[1 - winner]!.streamed()).toEqual([]);
    expect(server.count("lookup")).toBe(1);
  });

  test.each(["while the refund is held", "while nothing is held"])(
    "two tabs approve at once, %s: the refund happens once",
    async (when) => {
      const { server, tabs } = await both();
      await tabs[0].send(question[0]!);
      for (const step of ["lookup", "question"]) {
        await server.reaches(step);
        server.goOn();
      }
      for (const tab of tabs) await tab.shows("waiting", question);
      const isHeld = when.endsWith("refund is held");
      if (!isHeld) server.free();
      await Promise.all(tabs.map((tab) => tab.press("Approve")));
      const alerts = async () => Promise.all(tabs.map((tab) => tab.alert()));
      if (isHeld) await server.reaches("question");
      await expect.poll(alerts).toContain(refused);
      if (isHeld) {
        server.goOn();
        await server.reaches("refund");
        server.goOn();
      }
      for (const tab of tabs) await tab.shows("finished", refunded);
      expect((await alerts()).toSorted()).toEqual(["", refused]);
      expect(server.count("refund")).toBe(1);
    },
  );

  test.each(["before", "after"])(
    "the stop button of a tab ends the stream of another one, %s its first event",
    async (when) => {
      const { server, tabs } = await both();
      await tabs[0].send(question[0]!);
      await server.reaches("lookup");
      const messages = when === "after" ? question : question.slice(0, 1);
      if (when === "after") {
        server.goOn();
        await server.reaches("question");
        await expect.poll(tabs[0].streamed).toEqual(["lookup"]);
      }
      await tabs[1].shows("unfinished", messages);
      await tabs[1].press("Stop");
      for (const tab of tabs) await tab.shows("stopped", messages);
      await expect.poll(tabs[0].alert).toBe(when === "before" ? refused : "network error");
      // The step that was stopped ends now. It changes nothing.
      server.free();
      server.goOn();
      await tabs[0].send("Again.");
      for (const tab of tabs) await tab.shows("waiting", [...messages, "Again.", found]);
      await tabs[1].press("Approve");
      for (const tab of tabs) await tab.shows("finished", [...messages, "Again.", found, "Order 7 is refunded."]);
      expect(server.count("refund")).toBe(1);
    },
  );

  test("a page that is reloaded during a run shows what is stored, and the result when the run has ended", async () => {
    const { server, tabs } = await both();
    const [tab] = tabs;
    await tab.send(question[0]!);
    await server.reaches("lookup");
    await tab.reload();
    await tab.shows("unfinished", question.slice(0, 1));
    server.goOn();
    await server.reaches("question");
    await tab.reload();
    await tab.shows("unfinished", question);
    server.goOn();
    for (const each of tabs) await each.shows("waiting", question);
    await tab.press("Approve");
    await server.reaches("question");
    server.goOn();
    await server.reaches("refund");
    await tab.reload();
    server.goOn();
    for (const each of tabs) await each.shows("finished", refunded);
    expect(server.count("refund")).toBe(1);
  });
});
