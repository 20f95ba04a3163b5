// Lets the tests keep their files in memory. They sync thousands of commits, and a disk takes milliseconds for each.
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";

const memory = "/dev/shm";

/** The room that the tests need, in bytes. */
const ROOM = 4 * 2 ** 30;

/** Makes a folder in memory the folder for temporary files, if there is room, until the process exits. */
export function keepFilesInMemory() {
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return;
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize < ROOM) return;
  const folder = mkdtempSync(`${memory}/forkpoint-`);
  // The tests start servers as another user.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
}
