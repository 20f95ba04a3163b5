import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Command } from "commander";
import { command, parsed } from "../command.js";
import type { Context } from "../context.js";
import { UsageError, exitCodes } from "../errors.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

export interface StudioOptions {
  port?: number;
  write?: boolean;
  open: boolean;
}

const PORT = 4650;

export const studio = () =>
  withStudioOptions(
    command<StudioOptions>(
      "studio",
      "serve a page that shows the database, on this machine only",
      async (context, options) => serve(context, await context.open({ write: options.write ?? false }), options),
      "itself",
    ),
  ).option("--prices <file>", "show costs with these prices: a JSON file with the prices of each model");

export const withStudioOptions = (made: Command): Command =>
  made
    .addOption(parsed("--port <n>", `the port (default: ${PORT}, or a free one if it is taken; 0: any)`, portOf))
    .option("--write", "allow forks in the page, and deletions through its HTTP API")
    .option("--no-open", "don't open the browser");

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError("expected a port from 0 to 65535");
}

/** Serves the studio until the process is asked to end. With `--json`, its line begins with the fields of `answer`. */
export async function serve(
  context: Context,
  inspector: Inspector,
  { port, write = false, open }: StudioOptions,
  answer: object = {},
): Promise<number> {
  const { output, signal } = context;
  const { startStudio } = await import("../../studio/index.js");
  const studio = await startStudio(inspector, { port: port ?? PORT, write, portWasSaid: port !== undefined });
  try {
    if (output.json) output.printJson({ ...answer, url: studio.url, port: studio.port, write });
    else output.print(studio.url);
    await output.flush();
    context.note(write ? "the page can change data; press Ctrl-C to stop" : "read-only; press Ctrl-C to stop");
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
