import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { inMemory, startServer } from "./server.mjs";

const examples = fileURLToPath(new URL("../../examples/postgres/", import.meta.url));

/** The output of each example. The numbers of processes and the name of the machine are left out. */
const expected: Record<string, string[]> = {
  "two-workers.mjs": [
    "first worker: did search",
    "first worker: did read",
    "first worker: waits for the model",
    "second worker: is told that process … has the run",
    "the first worker is killed",
    "second worker: did write",
    "second worker: did review",
    "second worker: did send",
    "nothing was done twice",
  ],
};

/** Runs an example until it ends. */
function runExample(
  name: string,
  url: string | undefined,
): Promise<{ status: unknown; lines: string[]; errors: string }> {
  // Clear the test runner's NODE_OPTIONS for the child. The timeout stops an example that hangs.
  const env = { ...process.env, NODE_OPTIONS: "", DATABASE_URL: url };
  const options = { env, timeout: 50_000, killSignal: "SIGKILL" } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [`${examples}${name}`], options, (error, stdout, stderr) => {
      const status = error === null ? 0 : (error.code ?? error.signal);
      const lines = stdout
        .trimEnd()
        .replaceAll(/process \d+ on .*? has/g, "process … has")
        .split("\n");
      resolve({ status, lines, errors: stderr });
    });
  });
}

test("every example has an expectation, and every expectation an example", () => {
  expect(readdirSync(examples).toSorted()).toEqual(Object.keys(expected).toSorted());
});

test.for(Object.keys(expected))("%s, and once more in the same database", async (name, context) => {
  // A server that does not sync makes the store warn.
  const server = await startServer(inMemory);
  if (server === undefined) return context.skip();
  try {
    await server.query("CREATE DATABASE example");
    for (const time of ["first", "second"]) {
      const ended = { status: 0, errors: "", lines: expected[name] };
      expect(await runExample(name, server.url({ database: "example" })), `the ${time} time`).toEqual(ended);
    }
  } finally {
    await server.stop();
  }
});

test.each(Object.keys(expected))("%s without DATABASE_URL says what to set", async (name) => {
  const { status, errors } = await runExample(name, undefined);
  expect(status).toBe(1);
  expect(errors).toContain("DATABASE_URL");
});
