import { chromium } from "playwright-core";
import { spawn } from "node:child_process";
const db = process.argv[2], hash = process.argv[3];
const child = spawn(process.execPath, ["/work/main/dist/cli/main.js", "studio", "--db", db, "--no-open", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
let out = ""; child.stdout.on("data", (d) => (out += d)); child.stderr.on("data", (d) => (out += d));
for (;;) { const m = /http:\/\/\S+/.exec(out); if (m) { globalThis.url = m[0]; break; } await new Promise((r) => setTimeout(r, 20)); }
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
await page.goto(url); await page.getByTestId("run-row").first().waitFor();
await page.waitForTimeout(500);
for (let n = 0; n < 3; n++) {
const took = await page.evaluate(async (hash) => {
  performance.clearResourceTimings();
  const before = performance.now(); location.hash = hash;
  while (document.querySelector("[data-testid=tree-row]") === null) await new Promise(requestAnimationFrame);
  const took = performance.now() - before;
  await new Promise((r) => setTimeout(r, 800));
  return [took, performance.getEntriesByType("resource").map((e) => [e.name.replace(/.*api.v1/, "").slice(0, 60), Math.round(e.startTime - before), Math.round(e.duration), e.transferSize])];
}, hash);
console.log(Math.round(took[0])); for (const r of took[1]) console.log("   ", ...r);
await page.evaluate(() => (location.hash = "#/runs")); await page.getByTestId("run-row").first().waitFor();
await page.waitForTimeout(300);
}
await browser.close(); child.kill();
