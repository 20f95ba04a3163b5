// Tests the studio in a server of one's own, under a path, with a cookie of that server in the place of the token.
import { createServer } from "node:http";
import { once } from "node:events";
import { openStore } from "forkpoint";
import { studioHandler } from "forkpoint/studio";
import { expect, onTestFinished, test } from "vitest";
import { copied, inBrowser, pageOf, useBrowser } from "./browser.js";

useBrowser();

inBrowser("studioHandler", () => {
  test("is used under its path, by one who is signed in", async () => {
    const store = await openStore(copied());
    let handler: ReturnType<typeof studioHandler> | undefined;
    const server = createServer((request, response) => {
      if (request.url === "/login") {
        response.setHeader("Set-Cookie", "session=ada; HttpOnly; SameSite=Strict; Path=/").end("signed in");
      } else void handler!(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const base = `http://127.0.0.1:${port}/tools/studio/`;
    handler = studioHandler(store, {
      hosts: [`127.0.0.1:${port}`],
      basePath: "/tools/studio",
      write: true,
      authorize: ({ headers }) => /(?:^|; )session=ada(?:;|$)/.test(headers.cookie ?? ""),
    });
    onTestFinished(async () => {
      await handler!.close();
      server.closeAllConnections();
      server.close();
      await store.close();
    });
    const { page, requests } = await pageOf();
    const the = (id: string) => page.getByTestId(id);
    await page.goto(base.slice(0, -1));
    await the("error").waitFor();
    expect(await the("error").textContent()).toContain("Sign in");
    await page.goto(`http://127.0.0.1:${port}/login`);
    await page.goto(`${base}#/runs`);
    await the("run-row").first().waitFor();
    await expect.poll(() => the("live").getAttribute("data-state")).toBe("live");
    await the("run-row").filter({ hasText: "trip-4711" }).click();
    await the("tree-row").first().waitFor();
    await page.keyboard.press("f");
    await the("fork-submit").click();
    await the("fork-done").waitFor();
    await expect.poll(() => the("run-origin").textContent()).toContain("trip-4711");
    const asked = requests.filter((url) => !url.endsWith("/login") && url !== base.slice(0, -1));
    expect(asked.filter((url) => !url.startsWith(base))).toEqual([]);
    expect(asked.some((url) => url.startsWith(`${base}api/v1/runs`))).toBe(true);
  });
});
