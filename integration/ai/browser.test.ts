// Shows the page of examples/ai in a browser: answers outlive reloads and kills, branches stay, and an approval runs its tool once.
// @module-tag slow
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { folder } from "../../__test__/helpers.js";
import { findChromium } from "../studio/chromium.js";

type Pages = typeof import("../studio/pages.js");
type Browser = Awaited<ReturnType<Pages["launch"]>>;
type Opened = Awaited<ReturnType<Pages["openPage"]>>;
type Page = Opened["page"];

/** Limits for a busy machine. They are not a test of speed. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const waiting = { timeout: 30_000 };

let pages: Pages;
let browser: Browser | undefined;

beforeAll(async () => {
  const chromium = findChromium("all tests of examples/ai in a browser");
  if (chromium === null) return;
  // Imported here, because this file is also loaded where its tests are left out and no browser's driver is installed.
  pages = await import("../studio/pages.js");
  browser = await pages.launch(chromium);
});
beforeEach(({ skip }) => skip(browser === undefined, "no Chromium is installed"));
afterAll(() => browser?.close());

const place = (path: string) => new URL(path, import.meta.url);

/** A copy of the example in a folder of its own, as a user has it, and its server. */
class Example {
  readonly cwd = folder();
  base = "";
  #server: ChildProcess | undefined;

  constructor() {
    cpSync(place("../../examples/ai"), this.cwd, { recursive: true });
    symlinkSync(fileURLToPath(place("node_modules")), join(this.cwd, "node_modules"), "junction");
    // The test says when the model goes on.
    const model = join(this.cwd, "model.mjs");
    const paused = `import { pause } from ${JSON.stringify(place("fixtures/pause.mjs").href)};`;
    const code = readFileSync(model, "utf8").replace(/^const pause = .*$/m, paused);
    expect(code).toContain(paused);
    writeFileSync(model, code);
    onTestFinished(() => this.kill());
  }

  /** Starts the server. A second start uses the port of the first one, because the pages know it. */
  async start(): Promise<void> {
    const server = spawn(process.execPath, ["server.mjs"], {
      cwd: this.cwd,
      // The package is linked here, and finds the SDK beside the link.
      env: {
        ...process.env,
        NODE_OPTIONS: "--preserve-symlinks",
        PORT: this.base === "" ? "0" : new URL(this.base).port,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#server = server;
    for await (const line of createInterface(server.stdout)) {
      this.base = /^Open (\S+)$/.exec(line)?.[1] ?? this.base;
      if (this.base !== "") return;
    }
    throw new Error("the server has ended");
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  }

  /** Stops answers at their tenth word. */
  hold = () => writeFileSync(join(this.cwd, "hold"), "");
  release = () => rmSync(join(this.cwd, "hold"));

  mails(): string[] {
    const file = join(this.cwd, "sent-mails.txt");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }
}

/** A tab with a chat. */
class Tab {
  readonly page: Page;
  readonly said: string[];
  constructor({ page, said }: Pick<Opened, "page" | "said">) {
    [this.page, this.said] = [page, said];
  }

  button = (name: string) => this.page.getByRole("button", { name, exact: true });
  messages = () => this.page.getByRole("list", { name: "Conversation" }).locator(":scope > li");
  versions = () => this.page.getByRole("complementary", { name: "Versions" });
  alert = () => this.page.getByRole("alert");
  id = () => new URL(this.page.url()).searchParams.get("chat")!;

  /** The paragraphs of each message. */
  texts = () => this.messages().evaluateAll((all) => all.map((each) => each.querySelector("p")?.textContent ?? ""));
  status = () => this.page.getByRole("status").textContent();

  async send(text: string): Promise<void> {
    await this.page.getByRole("textbox").fill(text);
    await this.button("Send").click();
  }

  /** Waits until an answer stands still at its tenth word. */
  async inTheMiddle(count = 2): Promise<void> {
    await expect.poll(this.texts, waiting).toHaveLength(count);
    await expect.poll(async () => (await this.texts()).at(-1), waiting).toMatch(/ It comes slowly, one $/);
    await expect.poll(this.status, waiting).toBe("Writing…");
  }

  /** Waits until all is written, and returns the texts. */
  async settled(end = /list of versions\.$/): Promise<string[]> {
    await expect.poll(async () => (await this.texts()).at(-1), waiting).toMatch(end);
    await expect.poll(this.status, waiting).toBe("");
    return this.texts();
  }
}

async function opened(example: Example, address = example.base): Promise<Tab> {
  const tab = new Tab(await pages.openPage(browser!));
  await tab.page.goto(address);
  return tab;
}

async function started(): Promise<{ example: Example; tab: Tab }> {
  const example = new Example();
  await example.start();
  return { example, tab: await opened(example) };
}

test("a turn is stored, and each of its saves is a version", async () => {
  const { example, tab } = await started();
  await tab.send("hello");
  const texts = await tab.settled();
  expect(texts).toEqual(["hello", expect.stringMatching(/^This is answer 1 to "hello"/)]);
  await tab.page.reload();
  expect(await tab.settled()).toEqual(texts);
  expect(await (await opened(example, tab.page.url())).settled()).toEqual(texts);
  await expect
    .poll(() => tab.versions().getByRole("link").allTextContents(), waiting)
    .toEqual(["Version 2", "Version 1"]);
  expect(tab.said).toEqual([]);
});

test("a page that is reloaded in the middle of an answer gets all of it, and so does a second tab", async () => {
  const { example, tab } = await started();
  example.hold();
  await tab.send("hello");
  await tab.inTheMiddle();
  const middle = await tab.texts();
  for (const _ of ["once", "twice"]) {
    await tab.page.reload();
    await tab.inTheMiddle();
    expect(await tab.texts()).toEqual(middle);
  }
  const second = await opened(example, tab.page.url());
  await second.inTheMiddle();
  example.release();
  const texts = await tab.settled();
  expect(await second.settled()).toEqual(texts);
  await tab.page.reload();
  expect(await tab.settled()).toEqual(texts);
  expect([...tab.said, ...second.said]).toEqual([]);
});

test("a page that has read the chat before the answer ended, and asks for the stream after it, shows the answer", async () => {
  const { example, tab } = await started();
  example.hold();
  await tab.send("hello");
  await tab.inTheMiddle();
  const late = new Tab(await pages.openPage(browser!));
  const asked: Array<{ continue(): Promise<void> }> = [];
  await late.page.route("**/stream", (route) => void asked.push(route));
  await late.page.goto(tab.page.url());
  await expect.poll(() => asked, waiting).toHaveLength(1);
  expect(await late.texts()).toEqual(["hello"]);
  example.release();
  const texts = await tab.settled();
  await asked[0]!.continue();
  expect(await late.settled()).toEqual(texts);
});

test("after the server was killed, the page has the question and what was written, and can regenerate", async () => {
  const { example, tab } = await started();
  example.hold();
  await tab.send("hello");
  await tab.inTheMiddle();
  // This one has read the stored stream.
  await (await opened(example, tab.page.url())).inTheMiddle();
  const middle = await tab.texts();
  await example.kill();
  await expect.poll(() => tab.alert().textContent(), waiting).toContain("network error");
  example.release();
  await example.start();
  await tab.alert().getByRole("button", { name: "Reload" }).click();
  // The page shows the question first, and then what the stream has.
  await expect.poll(() => tab.texts(), waiting).toEqual(middle);
  await expect.poll(tab.status, waiting).toBe("The answer was interrupted.");
  await tab.button("Regenerate").click();
  const texts = await tab.settled();
  expect(texts).toEqual(["hello", expect.stringMatching(/^This is answer 1 to "hello"/)]);
  await tab.page.reload();
  expect(await tab.settled()).toEqual(texts);
});

test("an answer that is stopped stays in the chat, and a second tab ends with it", async () => {
  const { example, tab } = await started();
  example.hold();
  await tab.send("hello");
  await tab.inTheMiddle();
  const second = await opened(example, tab.page.url());
  await second.inTheMiddle();
  const middle = await tab.texts();
  await tab.button("Stop").click();
  for (const each of [tab, second]) await each.button("Regenerate").waitFor();
  await expect.poll(tab.status, waiting).toBe("");
  expect(await tab.texts()).toEqual(middle);
  await second.page.reload();
  await expect.poll(second.texts, waiting).toEqual(middle);
  await expect.poll(second.status, waiting).toBe("");
  example.release();
  await tab.send("again");
  await expect.poll(tab.texts, waiting).toHaveLength(4);
  const texts = await tab.settled();
  expect(texts.slice(0, 3)).toEqual([...middle, "again"]);
  await tab.page.reload();
  expect(await tab.settled()).toEqual(texts);
});

test("an edited message and a regenerated answer leave the old branches, which can be opened and forked", async () => {
  const { example, tab } = await started();
  await tab.send("one");
  await tab.settled();
  await tab.send("two");
  await expect.poll(tab.texts, waiting).toHaveLength(4);
  const first = await tab.settled();
  await tab.button("Regenerate").click();
  await expect.poll(async () => (await tab.texts())[3], waiting).toContain("This is answer 3");
  const second = await tab.settled();
  await tab.button("Edit “one”").click();
  await tab.send("another one");
  await expect.poll(tab.texts, waiting).toHaveLength(2);
  const third = await tab.settled();
  expect([first, second, third].map((texts) => texts.map((text) => text.split(" It ")[0]))).toEqual([
    ["one", 'This is answer 1 to "one".', "two", 'This is answer 2 to "two".'],
    ["one", 'This is answer 1 to "one".', "two", 'This is answer 3 to "two".'],
    ["another one", 'This is answer 4 to "another one".'],
  ]);
  const chat = tab.id();
  const old = tab.versions().getByRole("listitem").filter({ hasText: "answer 2" });
  await old.getByRole("link").click();
  await expect.poll(tab.texts, waiting).toEqual(first);
  await tab.versions().getByRole("listitem").filter({ hasText: "answer 2" }).getByRole("button").click();
  await expect.poll(tab.id, waiting).not.toBe(chat);
  expect(await tab.settled()).toEqual(first);
  await tab.send("three");
  await expect.poll(tab.texts, waiting).toHaveLength(6);
  expect((await tab.settled()).slice(0, 4)).toEqual(first);
  // The chat itself is as it was.
  const source = await opened(example, `${example.base}?chat=${chat}`);
  expect(await source.settled()).toEqual(third);
  expect([...tab.said, ...source.said]).toEqual([]);
});

test("an approval runs the tool once, though two tabs give it", async () => {
  const { example, tab } = await started();
  await tab.send("mail ada@example.com");
  await tab.button("Approve").waitFor();
  // The question outlives the server.
  await example.kill();
  await example.start();
  const late = await opened(example, tab.page.url());
  await late.button("Approve").waitFor();
  await tab.button("Approve").click();
  await expect.poll(() => tab.messages().last().textContent(), waiting).toContain("It is sent.");
  await late.button("Approve").click();
  await expect.poll(() => late.alert().textContent(), waiting).toContain("This question has already been answered.");
  expect(example.mails()).toEqual(["ada@example.com: Hello from the chat"]);
  await late.alert().getByRole("button", { name: "Reload" }).click();
  await expect.poll(() => late.messages().last().textContent(), waiting).toContain("It is sent.");
  expect(await late.button("Approve").count()).toBe(0);
  expect(await late.alert().count()).toBe(0);
  await expect.poll(tab.status, waiting).toBe("");
  await tab.send("mail eve@example.com");
  await tab.button("Deny").click();
  await expect.poll(() => tab.messages().last().textContent(), waiting).toContain("I have not sent it.");
  expect(example.mails()).toHaveLength(1);
  expect(tab.said).toEqual([]);
});

test("the page fits a phone, follows the dark mode, and each of its controls has a name", async () => {
  const { tab } = await started();
  await tab.send("mail ada@example.com");
  await tab.button("Approve").waitFor();
  await tab.page.setViewportSize({ width: 360, height: 640 });
  expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  const ground = () => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await tab.page.emulateMedia({ colorScheme: "dark" });
  expect(await ground()).not.toBe(light);
  const shown = await tab.page.locator("body").ariaSnapshot();
  const controls = shown.match(/(button|link|textbox).*/g)!;
  expect(controls.length).toBeGreaterThan(6);
  for (const control of controls) expect(control).toMatch(/^(button|link|textbox) "[^"]+/);
});
