/** Copies the built package beside LangGraph, looks for a browser, and fills the databases that several tests look at. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { copyPackage } from "../langgraph/copy-package.mjs";
import { findChromium } from "./chromium.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the browser. Null: there is none, and the tests are skipped. */
    chromium: string | null;
    /** A database as agents leave it. Tests that write copy it. */
    database: string;
  }
}

export default async function setup({ config, provide }: TestProject): Promise<() => void> {
  copyPackage(config.root);
  const chromium = findChromium("all tests of the studio in a browser");
  provide("chromium", chromium);
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-studio-"));
  const database = join(folder, "agent.db");
  if (chromium !== null) {
    const { fill } = (await import("./contents.mjs")) as { fill(target: string, pace?: number): Promise<void> };
    await fill(database, Number(process.env["FORKPOINT_STUDIO_PACE"] ?? 0));
  }
  provide("database", database);
  return () => rmSync(folder, { recursive: true, force: true });
}
