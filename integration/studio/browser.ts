/** A studio and a browser that shows it. */

import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Inspector } from "forkpoint/inspect";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished } from "vitest";
import { launch, openPage } from "./pages.js";

// The installed package, as its users have it.
const { openInspector } = (await import("forkpoint/inspect")) as typeof import("forkpoint/inspect");
const { startStudio } = (await import("forkpoint/studio")) as unknown as {
  startStudio(
    inspector: Inspector,
    options: { port: number; write: boolean; portWasSaid: boolean },
  ): Promise<{ url: string; port: number; close(): Promise<void> }>;
};

const executablePath = inject("chromium") ?? "";

/** As `describe`, where there is a browser. */
export const inBrowser = describe.skipIf(executablePath === "");

let browser: Browser;

/** Starts the browser of a test file. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (executablePath === "") return;
    browser = await launch(executablePath);
  });
  afterAll(() => browser?.close());
}

/** Makes a folder for the running test. */
export function folder(): string {
  const made = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-studio-test-")));
  onTestFinished(() => rmSync(made, { recursive: true, force: true, maxRetries: 10 }));
  return made;
}

/** Copies the filled database, for a test that writes. */
export function copied(): string {
  const path = join(folder(), "agent.db");
  copyFileSync(inject("database"), path);
  return path;
}

const main = join(createRequire(import.meta.url).resolve("forkpoint/package.json"), "../dist/cli/main.js");

/** Runs the command line. Returns what it prints. */
export async function command(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [main, ...args])).stdout;
}

export interface Shown {
  page: Page;
  inspector: Inspector;
  /** The address of the studio, without the token. */
  base: string;
  url: string;
  token: string;
  /** The addresses of all requests. */
  requests: string[];
  close(): Promise<void>;
  /** Finds elements by their `data-testid`. */
  the(id: string): Locator;
  /** Goes to an address behind "#". */
  go(hash: string): Promise<void>;
  /** The address behind "#", with its parameters. */
  at(): URLSearchParams & { page: string };
  /** Saves a step of a run from another process. */
  save(run: string, step: number, text?: string, tokens?: number): Promise<unknown>;
}

export interface ShowOptions extends BrowserContextOptions {
  /** The database, or an inspector of one's own. Default: the filled one. */
  of?: string | Inspector;
  write?: boolean;
  /** Whether something that the page writes to the console fails the test. */
  quiet?: boolean;
  /** The address behind "#" to begin with. Default: the token. */
  hash?: string;
}

/** Opens a page in the browser of the test file. */
export const pageOf = (options?: BrowserContextOptions) => openPage(browser, options);

/** Starts a studio and shows its page. The test fails if the page reports an error, or breaks its policy. */
export async function show(options: ShowOptions = {}): Promise<Shown> {
  const { of = inject("database"), write = false, quiet = true, hash, ...others } = options;
  const inspector = typeof of === "string" ? await openInspector(of, { write }) : of;
  const studio = await startStudio(inspector, { port: 0, write, portWasSaid: false });
  const { context, page, requests, said } = await pageOf(others);
  const close = async () => {
    await context.close();
    await studio.close();
    if (typeof of === "string") await inspector.close();
  };
  onTestFinished(async () => {
    await close();
    if (quiet) expect(said).toEqual([]);
  });
  const base = `http://127.0.0.1:${studio.port}/`;
  await page.goto(hash === undefined ? studio.url : base + hash);
  return {
    page,
    inspector,
    base,
    url: studio.url,
    token: studio.url.slice(-43),
    requests,
    close,
    the: (id) => page.getByTestId(id),
    go: (next) => page.evaluate((text) => void (location.hash = text), next),
    at() {
      const [name = "", query = ""] = new URL(page.url()).hash.replace(/^#\/?/, "").split(/\?(.*)/s);
      return Object.assign(new URLSearchParams(query), { page: name });
    },
    save: (run, step, text = "", tokens) =>
      promisify(execFile)(process.execPath, [
        fileURLToPath(new URL("save.mjs", import.meta.url)),
        String(of),
        run,
        String(step),
        text,
        String(tokens ?? ""),
      ]),
  };
}

/** The address of a run. */
export const runAt = (run: string, space = "agentos", more = ""): string =>
  `#/run?space=${space}&run=${encodeURIComponent(run)}${space === "langgraph" ? "&ns=" : ""}${more}`;
