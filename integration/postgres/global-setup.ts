/** Starts one server for all tests, and copies the built package beside LangGraph and Mastra. */
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { copyPackage } from "../langgraph/copy-package.mjs";
import { type Server, inMemory, startServer } from "./server.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of the server's first database. */
    postgres: string;
  }
}

/** The server, and the number of vitest projects that use it. */
const shared = ((globalThis as { postgresOfTests?: Shared }).postgresOfTests ??= { projects: 0 });
interface Shared {
  projects: number;
  server?: Promise<Server>;
}

async function start(): Promise<Server> {
  const server = await startServer(inMemory);
  if (server === undefined) throw new Error("no Postgres server is installed: see docs/internals/development.md");
  return server;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [langgraph, mastra] = ["../langgraph", "../mastra"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  for (const folder of [langgraph!, mastra!]) copyPackage(folder);
  // The package beside LangGraph is the one that all suites use. So Mastra must be there, too.
  const link = join(langgraph!, "node_modules/@mastra");
  rmSync(link, { recursive: true, force: true });
  symlinkSync(join(mastra!, "node_modules/@mastra"), link, "junction");
  shared.projects += 1;
  const server = await (shared.server ??= start());
  project.provide("postgres", server.url());
  return async () => {
    shared.projects -= 1;
    if (shared.projects === 0) await server.stop();
  };
}
