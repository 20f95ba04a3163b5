import { spawn } from "node:child_process";
import { once } from "node:events";
import { command, parsed } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";

interface Options {
  port?: number;
  write?: boolean;
  open: boolean;
}

const PORT = 4650;

export const studio = () =>
  command<Options>("studio", "serves a page on this machine that shows the database; Ctrl-C ends it", serve, "itself")
    .addOption(parsed("--port <n>", `the port (default: ${PORT}, or a free one if it is taken; 0: any)`, portOf))
    .option("--write", "lets the page fork and remove")
    .option("--no-open", "does not open the browser");

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError("expected a port from 0 to 65535");
}

async function serve(context: Context, { port, write = false, open }: Options): Promise<number> {
  const { output, signal } = context;
  const inspector = await context.open({ write });
  const { startStudio } = await import("../../studio/index.js");
  const studio = await startStudio(inspector, { port: port ?? PORT, write, portWasSaid: port !== undefined });
  try {
    if (output.json) output.printJson({ url: studio.url, port: studio.port, write });
    else output.print(studio.url);
    await output.flush();
    context.note(write ? "the page may write; Ctrl-C ends it" : "the page only reads; Ctrl-C ends it");
    if (open && process.stdout.isTTY && !output.json) openBrowser(studio.url);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await studio.close();
  }
  return exitCodes.done;
}

/** Opens a page in the user's browser. A machine may have none. */
function openBrowser(url: string): void {
  const { platform } = process;
  const [program, ...args] =
    platform === "darwin"
      ? ["open", url]
      : platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  const child = spawn(program!, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
