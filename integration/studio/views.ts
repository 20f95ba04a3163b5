/** The views of the studio: every page, tab and dialog. The tests of accessibility and of looks walk this table. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { names } from "./recorded.mjs";
import type { Shown } from "./browser.js";

/** The sizes of screens that are looked at. `also`: a width at which nothing may be wider than the screen. */
export const sizes = [
  { name: "desktop", width: 1440, height: 900, also: 1920 },
  { name: "tablet", width: 1024, height: 768, also: 768 },
  { name: "phone", width: 390, height: 844, also: 360 },
] as const;

export const themes = ["light", "dark"] as const;

/** A run of the recorded store, and what of it is shown. */
interface Place {
  run: keyof typeof names;
  space?: string;
  /** The step that is shown, -1 is the newest. Without it, a phone shows the timeline. */
  step?: number;
  /** Other parameters of the address, such as `view=diff`. */
  more?: string;
}

export interface View {
  name: string;
  /** The address behind "#", or a run. */
  at: string | Place;
  /** What is there when the view is ready: its `data-testid`. */
  until: string;
  /** What opens it, from its address on. */
  open?(shown: Shown): Promise<void>;
}

/** Presses a key when the page has loaded what the key acts on. */
const press =
  (key: string, after = "state-tree") =>
  async ({ the, page }: Shown): Promise<void> => {
    await the(after).first().waitFor({ state: "attached" });
    await page.keyboard.press(key);
  };

const click =
  (id: string) =>
  async ({ the }: Shown): Promise<void> => {
    await the(id).first().click();
  };

const type =
  (id: string, text: string) =>
  async ({ the }: Shown) => {
    await the(id).first().fill(text);
  };

export const views: View[] = [
  { name: "runs", at: "#/runs", until: "run-row" },
  { name: "runs-waiting", at: "#/runs?status=waiting", until: "run-row" },
  { name: "runs-searched", at: "#/runs?q=label:customer=ada&nested=1&sort=size", until: "run-row" },
  {
    name: "runs-by-tokens",
    at: "#/runs?sort=tokens",
    until: "runs-by-usage",
    open: async ({ page }) => page.getByText("sorted by tokens").waitFor(),
  },
  { name: "runs-empty", at: "#/runs?q=there is none", until: "runs-empty" },
  { name: "chat", at: { run: "chat" }, until: "step-row" },
  { name: "chat-step", at: { run: "chat", step: -1 }, until: "tree-row" },
  { name: "waiting", at: { run: "waiting" }, until: "step-row" },
  { name: "waiting-step", at: { run: "waiting", step: -1 }, until: "write-row" },
  { name: "two-questions", at: { run: "twoQuestions", step: -1 }, until: "write-row" },
  { name: "approvals", at: { run: "approvals", step: -1 }, until: "write-row" },
  { name: "failed", at: { run: "failed", step: -1 }, until: "write-row" },
  { name: "parallel", at: { run: "parallel", step: -2 }, until: "write-row" },
  { name: "forked", at: { run: "forked" }, until: "step-row" },
  { name: "effects", at: { run: "agentos", space: "agentos" }, until: "effect-row" },
  { name: "helix", at: { run: "helix", space: "helix", step: -1 }, until: "tree-row" },
  { name: "ai-chat", at: { run: "ai", space: "ai", step: -1 }, until: "tree-row" },
  { name: "large", at: { run: "large", step: -1 }, until: "tree-row" },
  {
    name: "value",
    at: { run: "large", step: -1 },
    until: "closer",
    async open({ the, page }) {
      await page.locator('[data-path="documents"]').click();
      await the("tree-row").first().waitFor();
    },
  },
  { name: "state-search", at: { run: "chat", step: -1 }, until: "tree-row", open: type("state-search", "refund") },
  { name: "changes", at: { run: "chat", step: -1, more: "view=diff" }, until: "diff-row" },
  { name: "changes-none", at: { run: "parallel", step: 1, more: "view=diff" }, until: "diff-target" },
  { name: "details", at: { run: "chat", step: -1, more: "view=more" }, until: "details" },
  { name: "keys", at: "#/runs", until: "keys", open: press("?", "run-row") },
  {
    name: "effect",
    at: { run: "agentos", space: "agentos" },
    until: "effect-result",
    open: async ({ the }) => the("effect-row").last().click(),
  },
  { name: "fork", at: { run: "forked", step: -1 }, until: "fork-editor", open: press("f") },
  {
    name: "fork-error",
    at: { run: "forked", step: -1 },
    until: "fork-error",
    async open(shown) {
      await press("f")(shown);
      await shown.the("fork-editor").fill('{\n  "tone": formal\n}');
    },
  },
  { name: "conversation", at: { run: "chat", step: -1, more: "view=chat" }, until: "message" },
  { name: "question", at: { run: "waiting", step: -1 }, until: "answer-form" },
  { name: "questions", at: { run: "twoQuestions" }, until: "question" },
  {
    name: "compare",
    at: { run: "forked", step: -1, more: "view=diff" },
    until: "compare-pick",
    open: click("compare"),
  },
  {
    name: "edit",
    at: { run: "forked", step: -1 },
    until: "edit-editor",
    async open({ the, page }) {
      await page.locator('[data-path="tone"]').click();
      await the("edit-value").click();
    },
  },
  { name: "search", at: "#/search?q=refund", until: "grep-row" },
  { name: "search-empty", at: "#/search", until: "grep-input" },
  { name: "waterfall", at: { run: "parallel", more: "pane=waterfall" }, until: "waterfall-row" },
  { name: "graph", at: { run: "parallel", more: "pane=graph" }, until: "graph-node" },
  { name: "take", at: { run: "chat" }, until: "take-dialog", open: click("take") },
  { name: "import", at: "#/runs", until: "import-dialog", open: click("import") },
  { name: "storage", at: "#/storage", until: "storage-run" },
  { name: "unknown-run", at: "#/run?space=langgraph&run=there-is-none&ns=", until: "error" },
];

async function hashOf({ inspector }: Shown, at: View["at"]): Promise<string> {
  if (typeof at === "string") return at;
  const { run, space = "langgraph", step, more } = at;
  const ref = { space, run: names[run], ns: space === "langgraph" ? "" : null };
  const parameters = new URLSearchParams({ space, run: ref.run, ...(ref.ns !== null && { ns: ref.ns }) });
  if (step !== undefined) parameters.set("at", (await inspector.checkpoint({ ...ref, step }))!.checkpoint.id);
  return `#/run?${parameters.toString()}${more === undefined ? "" : `&${more}`}`;
}

/** Waits until nothing moves, fades in or loads. The placeholder at the end of a long list stays. */
export async function settled(page: Page): Promise<void> {
  const unsettled = () =>
    page.evaluate(() => {
      const stays = (element: Element | null) => element?.closest(".virtual .skeleton") != null;
      const loading = [...document.querySelectorAll(".skeleton, [aria-busy=true]")].filter((each) => !stays(each));
      const moving = document.getAnimations().filter(({ effect }) => !stays((effect as KeyframeEffect).target));
      return loading.length + moving.length;
    });
  await expect.poll(unsettled).toBe(0);
}

/** Loads a view anew, so that nothing is left of the one before. */
export async function openView(shown: Shown, { at, until, open }: View): Promise<void> {
  await shown.page.goto("about:blank");
  await shown.page.goto(shown.base + (await hashOf(shown, at)));
  await open?.(shown);
  await shown.the(until).first().waitFor();
  await settled(shown.page);
}
