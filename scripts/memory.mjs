// Keeps the files of tests in memory. The tests sync thousands of commits, each of which takes a disk milliseconds.
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";

const memory = "/dev/shm";

/** The space that the tests need, in bytes. */
const ROOM = 4 * 2 ** 30;

/** If there is space, uses a folder in memory for temporary files until the process exits. */
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
