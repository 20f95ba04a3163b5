// Tests in a browser that nothing stored becomes markup, that no request leaves the origin, and that the token stays secret.
import { expect, test } from "vitest";
import { hostile } from "./contents.mjs";
import { copied, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

/** What the hostile texts would have set. */
const harm = "harm";

inBrowser("stored texts", () => {
  test("become neither markup, nor a link, nor a style, wherever they are shown", async () => {
    // `show` fails the test if the page breaks its policy or reports an error.
    const { the, page, go, save, base, requests } = await show({ of: copied(), write: true });
    await the("run-row").first().waitFor();
    const elements = () =>
      page.evaluate((text) => {
        const all = [...document.querySelectorAll("*")];
        const inAttributes = (name: string) => all.filter((each) => (each.getAttribute(name) ?? "").includes("harm"));
        return {
          // The page's own script is the only one, and there is no element that a text could have made.
          scripts: document.scripts.length,
          made: all.filter(({ localName }) => ["img", "iframe", "object", "embed", "base", "meta2"].includes(localName))
            .length,
          links: inAttributes("href")
            .map((each) => (each as HTMLAnchorElement).getAttribute("href")!)
            .filter((href) => !/^#\/run\?[\w.~%=&+*-]+$/.test(href)),
          sources: inAttributes("src").length + inAttributes("style").length + inAttributes("class").length,
          handlers: all.flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith("on")).length,
          isSeen: document.body.textContent!.includes(text.slice(0, 30)),
          harm: "harm" in window,
        };
      }, hostile);
    const none = { scripts: 1, made: 0, links: [], sources: 0, handlers: 0, isSeen: true, harm: false };
    expect(await elements(), "the list").toEqual(none);
    await go(runAt(hostile));
    await the("tree-row").first().waitFor();
    await expect.poll(elements, { message: "the state" }).toEqual(none);
    await page.keyboard.press("d");
    await the("diff").waitFor();
    await expect.poll(elements, { message: "the changes" }).toEqual(none);
    await page.getByRole("button", { name: "Details" }).click();
    await expect.poll(elements, { message: "the details" }).toEqual(none);
    await page.keyboard.press("f");
    await the("fork-editor").waitFor();
    const text = await the("fork-editor").inputValue();
    await the("fork-editor").fill(text.replace('"budget": 400', `"budget": ${JSON.stringify(hostile)}`));
    await the("fork-preview").locator("[data-testid=diff-row]").waitFor();
    expect(await elements(), "the preview").toEqual(none);
    await the("fork-submit").click();
    await the("run-origin").waitFor();
    expect(await elements(), "the link to the source").toEqual(none);
    await the("run-origin").click();
    await the("fork-link").waitFor();
    await save(hostile, 2, hostile);
    await expect.poll(() => the("step-row").count()).toBe(3);
    await the("step-row").first().click();
    await page.locator('[data-path="scratch.text"]').click();
    await expect.poll(() => page.locator(".closer pre").textContent()).toBe(hostile);
    expect(await elements(), "what was saved meanwhile").toEqual(none);
    await go("#/storage");
    await the("storage-run").first().waitFor();
    expect((await elements()).harm).toBe(false);
    expect(requests.filter((url) => !url.startsWith(base) && !url.startsWith("data:"))).toEqual([]);
  });

  test("in the address do no harm either", async () => {
    const { the, go, page } = await show({ quiet: false });
    await the("run-row").first().waitFor();
    for (const hash of [
      `#/${hostile}`,
      `#/run?space=${encodeURIComponent(hostile)}&run=${encodeURIComponent(hostile)}&at=${encodeURIComponent(hostile)}`,
      `#/runs?q=${encodeURIComponent(hostile)}&space=${encodeURIComponent(hostile)}&status=__proto__`,
      "#/run",
      "#/run?__proto__=1&constructor=2",
      `${runAt("trip-4711-lisbon")}&at=none&vs=none&view=${encodeURIComponent(hostile)}`,
      "#/%zz?%zz=%zz",
      "#javascript:window.harm=9",
    ]) {
      await go(hash);
      await page.waitForTimeout(150);
      expect(await page.evaluate((name) => name in window, harm), hash).toBe(false);
      expect(await page.locator("main").count(), hash).toBe(1);
    }
    await go("#/runs");
    await expect.poll(() => the("run-row").count()).toBeGreaterThan(10);
  });

  test("the policy holds: inline scripts, styles and markup are refused", async () => {
    const { page, the } = await show({ quiet: false });
    await the("run-row").first().waitFor();
    const results = await page.evaluate(async () => {
      const script = document.createElement("script");
      let trusted = "";
      try {
        script.text = "window.harm = 1";
        document.body.append(script);
      } catch (error) {
        trusted = (error as Error).name;
      }
      let markup = "";
      try {
        document.body.insertAdjacentHTML("beforeend", "<b>x</b>");
      } catch (error) {
        markup = (error as Error).name;
      }
      const sent = await fetch("https://example.com/").then(
        () => "sent",
        () => "refused",
      );
      const framed = document.createElement("iframe");
      framed.src = "https://example.com/";
      document.body.append(framed);
      return { trusted, markup, sent, harm: "harm" in window };
    });
    expect(results).toEqual({ trusted: "TypeError", markup: "TypeError", sent: "refused", harm: false });
  });
});

inBrowser("the token", () => {
  test("leaves the address bar, is in no cookie and no request's address, and survives a reload of this tab only", async () => {
    const { page, the, token, requests, base, at } = await show();
    await the("run-row").first().waitFor();
    expect(page.url()).not.toContain(token);
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate(() => [document.cookie, JSON.stringify(localStorage)])).toEqual(["", "{}"]);
    expect(requests.filter((url) => url.includes(token) && !url.endsWith(`#token=${token}`))).toEqual([]);
    await page.reload();
    await the("run-row").first().waitFor();
    await page.goBack().catch(() => {});
    expect(page.url()).not.toContain(token);
    expect(at().get("token")).toBeNull();
    expect(requests.every((url) => url.startsWith(base))).toBe(true);
  });

  test("that is missing or of another start locks the page, which says what to do; the right one opens it again", async () => {
    const { page, the, url } = await show({ hash: "", quiet: false });
    await the("error").waitFor();
    expect(await the("error").textContent()).toContain("FORBIDDEN");
    expect(await the("error").textContent()).toContain("forkpoint studio");
    expect(await the("run-row").count()).toBe(0);
    expect(await the("live").getAttribute("data-state")).toBe("offline");
    await page.goto(`${url.slice(0, -43)}${"A".repeat(43)}`);
    await the("error").waitFor();
    await page.goto(url);
    await the("run-row").first().waitFor();
    await expect.poll(() => the("live").getAttribute("data-state")).toBe("live");
    await expect.poll(() => the("error").count()).toBe(0);
  });

  test("does not help another site: it may not read, write or frame the studio", async () => {
    const { createServer } = await import("node:http");
    const { token, base, page } = await show({ write: true, of: copied(), quiet: false });
    const other = createServer((_, response) =>
      response.setHeader("Content-Type", "text/html").end("<p>another site</p>"),
    );
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    try {
      const stranger = await page.context().newPage();
      // Another port is another origin on the same site. Another name is another site.
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
        await stranger.goto(`http://${host}/`);
        const results = await stranger.evaluate(
          async ([address, bearer]) => {
            const tries: Array<[string, RequestInit]> = [
              ["info", { headers: { Authorization: `Bearer ${bearer}` } }],
              ["info", { mode: "no-cors" }],
              ["rm", { method: "POST", mode: "no-cors", body: '{"space":"agentos","run":"trip-4711-lisbon"}' }],
              [
                "rm",
                {
                  method: "POST",
                  headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
                  body: "{}",
                },
              ],
            ];
            return Promise.all(
              tries.map(([route, init]) =>
                fetch(`${address}api/v1/${route}`, init).then(
                  ({ type, status }) => `${type} ${status}`,
                  () => "refused",
                ),
              ),
            );
          },
          [base, token] as const,
        );
        // An opaque answer tells nothing.
        expect(results.every((each) => each === "refused" || each === "opaque 0")).toBe(true);
        const framed = await stranger.evaluate(async (address) => {
          const frame = document.createElement("iframe");
          frame.src = address;
          document.body.append(frame);
          await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
          try {
            return frame.contentDocument?.title ?? "closed";
          } catch {
            return "closed";
          }
        }, base);
        expect(framed).not.toContain("Forkpoint");
      }
      const left = await page.evaluate(async () => document.body.textContent);
      expect(left).toContain("trip-4711");
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });
});

inBrowser("the stream of events", () => {
  test("opens again after the studio was away, and shows what was saved meanwhile", async () => {
    const { the, page, save } = await show({ of: copied(), quiet: false });
    await the("run-row").first().waitFor();
    await expect.poll(() => the("live").getAttribute("data-state")).toBe("live");
    await page.context().setOffline(true);
    await page.route("**/api/v1/events", (route) => route.abort());
    // Only a new connection is refused. The open one ends with the next reload of the page.
    await page.reload().catch(() => {});
    await page.context().setOffline(false);
    await page.reload();
    await expect.poll(() => the("live").getAttribute("data-state")).toBe("offline");
    await save("while-away", 0);
    await page.unroute("**/api/v1/events");
    await expect.poll(() => the("live").getAttribute("data-state"), { timeout: 20_000 }).toBe("live");
    await expect.poll(() => the("run-row").first().getAttribute("data-run")).toBe("while-away");
  });
});
