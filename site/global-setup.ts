/** Builds the site, and looks for a browser. With FORKPOINT_SITE=built, the tests use the site as it was built before. */

import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { findChromium } from "../integration/studio/chromium.js";
import { install, run } from "../scripts/setup.mjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the browser. Null: there is none, and its tests are skipped. */
    chromium: string | null;
  }
}

export default function setup({ provide }: TestProject): void {
  provide("chromium", findChromium("the tests of the site in a browser"));
  if (process.env["FORKPOINT_SITE"] === "built") return;
  install(fileURLToPath(new URL(".", import.meta.url)));
  run(process.execPath, [fileURLToPath(new URL("build.mjs", import.meta.url))]);
}
