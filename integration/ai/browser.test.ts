// Shows the page of examples/ai in a browser: answers outlive reloads and kills, branches stay, and an approval runs its tool once.
// @module-tag slow
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { folder } from "../../__test__/helpers.js";
import { findChromium } from "../studio/chromium.js";

type Pages = typeof import("../studio/pages.js");
type Browser = Awaited<ReturnType<Pages["launch"]>>;
type Opened = Awaited<ReturnType<Pages["openPage"]>>;
type Page = Opened["page"];

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
      env: { ...process.env, NODE_OPTIONS: "", PORT: this.base === "" ? "0" : new URL(this.base).port },
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
    await expect
      .poll(async () => (await this.texts()).at(-1), waiting)
      .toMatch(/^This is answer \d+ to ".*" It comes /);
    await expect.poll(this.status, waiting).toBe("Writing…");
  }

  /** Waits until all is written, and returns the texts. */
  async settled(end = /list of versions\.$/): Promise<string[]> {
    await expect.poll(async () => (await this.texts()).at(-1), waiting).toMatch(end);
    await expect.poll(this.status, waiting).toBe("");
    return this.texts();
  }
}

/** A limit for a busy machine. It is not a test of speed. */
const waiting = { timeout: 30_000 };

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
