// Tools that copy the files of a program find the addon. The copy runs where nothing else is installed.
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeFileTrace } from "@vercel/nft";
import { expect, it, onTestFinished } from "vitest";
import { pages, snippetsOf } from "../../__test__/snippets.js";
import { folderIn, forms, guide, node, output, printed, program, tool } from "./helpers.js";

/** Makes a folder outside the repository, so that nothing of the repository is found from it. */
function elsewhere(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "forkpoint-traced-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const required = program.replaceAll(/import (.*) from (.*);/g, "const $1 = require($2);");

it.each(forms)("@vercel/nft copies what a program needs, without a warning: %s", async (form) => {
  const folder = folderIn(form, { "import.mjs": program, "require.cjs": required });
  const project = dirname(folder);
  for (const file of ["import.mjs", "require.cjs"]) {
    const { fileList, warnings } = await nodeFileTrace([join(folder, file)], { base: project });
    expect([...warnings]).toEqual([]);
    expect([...fileList].filter((path) => path.endsWith(".node"))).toHaveLength(1);
    const copy = elsewhere();
    for (const path of fileList) cpSync(join(project, path), join(copy, path));
    expect(node([file], join(copy, folder.slice(project.length)))).toEqual(printed(output));
  }
});

const page = `
import { CheckpointStore } from "forkpoint";
export const dynamic = "force-dynamic";
export default async function Page() {
  const store = new CheckpointStore("memory:");
  const { runs } = await store.runs();
  await store.close();
  return <p>{"stored runs: " + runs.length}</p>;
}`;

/** Returns a port that is free. */
const freePort = () =>
  new Promise<number>((done) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });

/** Builds a program with Next.js, starts its standalone output where nothing else is installed, and returns the server's URL. */
async function standalone(
  files: Record<string, string>,
  options: string,
): Promise<{ url: string; errors: () => string }> {
  const runtimes = fileURLToPath(new URL(".", import.meta.url));
  const folder = folderIn("the addon beside", {
    // The root is where Next.js itself is installed.
    "next.config.mjs": `${guide("next.config.mjs")}
      export const root = ${JSON.stringify(runtimes)};
      Object.assign(config, { outputFileTracingRoot: root, turbopack: { root } });`,
    "app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;",
    "app/page.js": page,
    ...files,
  });
  const built = node([tool("next/dist/bin/next"), "build"], folder, { NEXT_TELEMETRY_DISABLED: "1" });
  expect(built).toMatchObject({ status: 0, stderr: "" });

  const copy = elsewhere();
  cpSync(join(folder, ".next/standalone"), copy, { recursive: true });
  const copied = readdirSync(copy, { recursive: true }).map(String);
  expect(copied.filter((path) => /forkpoint\.[^/\\]*\.node$/.test(path))).toHaveLength(1);
  const server = copied.find(
    (path) => path.endsWith(`${sep}server.js`) && !path.includes(`node_modules${sep}next${sep}`),
  )!;

  const port = await freePort();
  const env = { ...process.env, NODE_OPTIONS: options, PORT: String(port), HOSTNAME: "127.0.0.1" };
  const running = spawn(process.execPath, [join(copy, server)], { cwd: copy, env });
  onTestFinished(() => void running.kill("SIGKILL"));
  let errors = "";
  running.stderr.on("data", (text) => (errors += text));
  return { url: `http://127.0.0.1:${port}`, errors: () => errors };
}

/** Asks a server that is starting. */
async function ask(url: string, init?: RequestInit): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

it("Next.js' standalone output runs alone, with the routes of the AI SDK's guide", { timeout: 300_000 }, async () => {
  const own = ["app/api/chat/route.js", "app/api/chat/[id]/stream/route.js"];
  const { code: handlers } = snippetsOf(pages.find(({ path }) => path === "docs/ai.md")!).find(
    ({ file }) => file === "handlers.mts",
  )!;
  const files = Object.fromEntries(own.map((file) => [file, guide(file, "docs/ai.md")]));
  const standIn = new URL("../ai/fixtures/stand-in.mjs", import.meta.url).href;
  const { url, errors } = await standalone({ ...files, "handlers.mts": handlers }, `--import ${standIn}`);
  expect(await (await ask(url)).text()).toContain("stored runs: 0");
  const messages = [{ id: "m", role: "user", parts: [{ type: "text", text: "one" }] }];
  const body = JSON.stringify({ id: "c/1", messages });
  const answer = await ask(`${url}/api/chat`, { method: "POST", body });
  const text = await answer.text();
  expect({ status: answer.status, errors: errors() }).toEqual({ status: 200, errors: "" });
  expect(text).toContain('"delta":"answer "');
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  const resumed = await ask(`${url}/api/chat/${encodeURIComponent("c/1")}/stream`);
  expect({ status: resumed.status, errors: errors() }).toEqual({ status: 204, errors: "" });
});
