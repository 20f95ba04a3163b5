// Tests docs/studio.md: its program compiles, runs and serves the studio as it says, its command starts one, the names in
// its tables are those of the page, and its pictures are small.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { folder } from "../helpers.js";
import { problemsOf, write } from "../pages.js";
import { readPage, snippetsOf } from "../snippets.js";
import { ask } from "./helpers.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const guide = readFileSync(join(root, "docs/studio.md"), "utf8");
// The folder is inside the package, so that the program finds the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));
const found = snippetsOf(readPage("docs/studio.md"));
const program = join(place, "program");

beforeAll(() => write(found[0]!.code, program));

afterAll(() => rmSync(place, { recursive: true, force: true }));

/** Starts a program that serves, in a folder. It is ended with the test. */
function serve(args: string[], cwd: string) {
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

test("its program compiles under strict", { timeout: 120_000 }, () => {
  expect(found).toHaveLength(1);
  expect(problemsOf([`${program}.mts`])).toEqual([]);
});

test("its program serves the studio to those whom it lets in", async () => {
  const cwd = folder();
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    // Any port, which is said on the first line.
    const prelude = `import { Server } from "node:http";
      const { listen } = Server.prototype;
      Server.prototype.listen = function (port, then) {
        return listen.call(this, 0, "127.0.0.1", () => { console.log(this.address().port); then(); });
      };
      await import(${JSON.stringify(pathToFileURL(`${program}.mjs`).href)});`;
    const { lines } = serve(["--input-type=module", "--eval", prelude], cwd);
    const listening = lines.next().then(async ({ value }) => {
      expect((await lines.next()).value).toBe("listening");
      return { port: Number(value) };
    });
    listening.then(resolve, reject);
  });
  const host = { host: "tools.example.com" };
  const user = { ...host, "x-forwarded-user": "admin@example.com" };
  expect(await ask(port, "/studio/", { headers: host })).toMatchObject({ status: 200 });
  expect(await ask(port, "/studio/api/v1/info", { headers: user })).toMatchObject({ status: 200 });
  expect(await ask(port, "/studio/api/v1/info", { headers: host })).toMatchObject({ status: 403 });
  expect(await ask(port, "/studio/", { headers: { host: "other.example.com" } })).toMatchObject({ status: 403 });
});

test("it names the options of the command and the keys of the page, all of them", () => {
  const command = readFileSync(join(root, "tools/cli/commands/studio.ts"), "utf8");
  const options = [...command.matchAll(/"(--[\w-]+)/g)].map(([, option]) => option!);
  expect(options.length).toBeGreaterThan(2);
  for (const option of options) expect(guide, option).toContain(`\`${option}`);
  const keys = readFileSync(join(root, "tools/studio/page/keys-dialog.tsx"), "utf8");
  const table = guide.slice(guide.indexOf("## Keys"), guide.indexOf("## Who can see it"));
  const rows = [...keys.matchAll(/\[\[("[^\]]+"|"\[" |"\]")\], "/g)].map(([, names]) => names!);
  const names = rows.flatMap((row) => [...row.matchAll(/"([^"]+)"/g)].map(([, name]) => name!));
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) {
    if (["Home", "End", "Alt", "click"].includes(name)) continue;
    expect(table, name).toContain(`\`${name}\``);
  }
});

test("the pictures are small, and the guide shows one", () => {
  const pictures = readdirSync(join(root, "docs/images"));
  expect(pictures.length).toBeGreaterThan(0);
  for (const picture of pictures) {
    expect(statSync(join(root, "docs/images", picture)).size, picture).toBeLessThan(120 * 1024);
  }
  expect(guide).toContain("](images/studio.webp)");
});
