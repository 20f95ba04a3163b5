/** Copies the built package beside LangGraph, looks for a browser, and fills the databases that several tests look at. */

import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { TestProject } from "vitest/node";
import { copyPackage } from "../langgraph/global-setup.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the browser. Null: there is none, and the tests are skipped. */
    chromium: string | null;
    /** A database as agents leave it. Tests that write copy it. */
    database: string;
  }
}

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the path of the browser that `CHROMIUM` names, or of the first one that is installed. */
function findChromium(): string | null {
  const { CHROMIUM, PATH = "" } = process.env;
  if (CHROMIUM !== undefined && CHROMIUM !== "") {
    if (isProgram(CHROMIUM)) return CHROMIUM;
    throw new Error(`CHROMIUM names ${CHROMIUM}, which is no program`);
  }
  const paths = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return paths.find(isProgram) ?? null;
}

export default async function setup({ config, provide }: TestProject): Promise<() => void> {
  copyPackage(config.root);
  const chromium = findChromium();
  if (chromium === null) {
    const message = "no Chromium is installed: apt-get install chromium, or set CHROMIUM=<path>";
    if (process.env["CI"] === "true") throw new Error(message);
    console.warn(
      `\n${"*".repeat(80)}\n* SKIPPED: all tests of the studio in a browser. ${message}\n${"*".repeat(80)}\n`,
    );
  }
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
