/** The recorded store, for tests: every kind of run in one database. */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { folder } from "./browser.js";
import { record } from "./recorded.mjs";

/**
 * Records the store once for the test file, if there is a browser. Returns the path of the database, and makes copies for
 * tests that write.
 */
export function useRecording(options: { pace?: number; small?: number } = {}) {
  let path = "";
  let place = "";
  beforeAll(async () => {
    if (inject("chromium") === null) return;
    place = mkdtempSync(join(tmpdir(), "forkpoint-recorded-"));
    path = join(place, "recorded.db");
    await record(path, options);
  });
  afterAll(() => {
    if (place !== "") rmSync(place, { recursive: true, force: true, maxRetries: 10 });
  });
  return {
    path: () => path,
    copy(name = "recorded.db"): string {
      const copied = join(folder(), name);
      copyFileSync(path, copied);
      return copied;
    },
  };
}
