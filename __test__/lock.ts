// A process that holds the lock of a database for as long as a test wants.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { CheckpointStore } from "forkpoint";
import { checkpoint, fixture } from "./helpers.js";

export interface Holder {
  /** Lets the process go on, so that its commit ends. */
  release(): void;
  /** Kills the process. */
  end(): Promise<void>;
}

/** Starts a process that writes to the file, and stops the process in the middle of a commit. Not for Windows. */
export async function holdFile(file: string): Promise<Holder> {
  const child = spawn(process.execPath, [fixture("hold.mjs"), file], { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.resume();
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  for (;;) {
    child.kill("SIGSTOP");
    if (await isLocked(file)) break;
    child.kill("SIGCONT");
    await setTimeout(Math.random() * 20);
  }
  return {
    release: () => void child.kill("SIGCONT"),
    end: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function isLocked(file: string): Promise<boolean> {
  const store = new CheckpointStore(file, { busyTimeoutMs: 20 });
  try {
    await store.save(checkpoint({ id: "probe", runId: "probe" }));
    return false;
  } catch (error) {
    if ((error as { code?: string }).code !== "BUSY") throw error;
    return true;
  } finally {
    await store.close();
  }
}
