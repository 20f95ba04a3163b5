/** Finds and loads the addon of this platform. */

import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import path = require("node:path");
import { bundledError } from "./bundled.js";
import { ForkpointError } from "./errors.js";

/**
 * The addon of each platform: the file built in this package's folder, and the file in the package that npm installs
 * beside it. Tools that copy the files of a program, such as Next.js and @vercel/nft, do not run the program. They find
 * a file only if its entire path is written in one call of `path.join`. Bundlers ignore such a call, so they do not
 * fail on the platforms that are not installed.
 */
const files: Record<string, [built: string, installed: string]> = {
  "linux-x64-gnu": [
    path.join(__dirname, "../../forkpoint.linux-x64-gnu.node"),
    path.join(__dirname, "../../../forkpoint-linux-x64-gnu/forkpoint.linux-x64-gnu.node"),
  ],
  "linux-arm64-gnu": [
    path.join(__dirname, "../../forkpoint.linux-arm64-gnu.node"),
    path.join(__dirname, "../../../forkpoint-linux-arm64-gnu/forkpoint.linux-arm64-gnu.node"),
  ],
  "linux-x64-musl": [
    path.join(__dirname, "../../forkpoint.linux-x64-musl.node"),
    path.join(__dirname, "../../../forkpoint-linux-x64-musl/forkpoint.linux-x64-musl.node"),
  ],
  "linux-arm64-musl": [
    path.join(__dirname, "../../forkpoint.linux-arm64-musl.node"),
    path.join(__dirname, "../../../forkpoint-linux-arm64-musl/forkpoint.linux-arm64-musl.node"),
  ],
  "darwin-x64": [
    path.join(__dirname, "../../forkpoint.darwin-x64.node"),
    path.join(__dirname, "../../../forkpoint-darwin-x64/forkpoint.darwin-x64.node"),
  ],
  "darwin-arm64": [
    path.join(__dirname, "../../forkpoint.darwin-arm64.node"),
    path.join(__dirname, "../../../forkpoint-darwin-arm64/forkpoint.darwin-arm64.node"),
  ],
  "win32-x64-msvc": [
    path.join(__dirname, "../../forkpoint.win32-x64-msvc.node"),
    path.join(__dirname, "../../../forkpoint-win32-x64-msvc/forkpoint.win32-x64-msvc.node"),
  ],
  "win32-arm64-msvc": [
    path.join(__dirname, "../../forkpoint.win32-arm64-msvc.node"),
    path.join(__dirname, "../../../forkpoint-win32-arm64-msvc/forkpoint.win32-arm64-msvc.node"),
  ],
};

/** The number of bytes at the start of an executable that contain the name of its loader. */
const HEADER_BYTES = 4096;

/** Returns the start of the executable that runs this process, as text. Returns "" if it cannot be read. */
function executableHeader(): string {
  try {
    const file = openSync(process.execPath, "r");
    try {
      const bytes = Buffer.alloc(HEADER_BYTES);
      return bytes.toString("latin1", 0, readSync(file, bytes, 0, HEADER_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

/**
 * Returns the platform names to try. On Linux, the executable's header names the loader of its C library. With musl,
 * the glibc addon is not tried: musl's loader may load it, but it crashes later.
 */
function platforms(): string[] {
  const { platform, arch } = process;
  if (platform === "win32") return [`win32-${arch}-msvc`];
  if (platform !== "linux") return [`${platform}-${arch}`];
  const musl = `linux-${arch}-musl`;
  return executableHeader().includes("/ld-musl-") ? [musl] : [`linux-${arch}-gnu`, musl];
}

/** Loads the addon. Throws `UNSUPPORTED` if there is none for this platform. */
export function loadAddon(): unknown {
  const load = createRequire(__filename);
  const tried: string[] = [];
  for (const platform of platforms()) {
    // The package name also finds the addon wherever the package manager has put it.
    for (const place of [...(files[platform] ?? []), `forkpoint-${platform}`]) {
      try {
        return load(place);
      } catch (error) {
        tried.push(`  ${place}: ${(error as Error).message.split("\n")[0]}`);
      }
    }
  }
  // Some bundlers keep `__filename` but drop the file.
  if (!existsSync(__filename)) throw bundledError();
  throw new ForkpointError(
    "UNSUPPORTED",
    `forkpoint has no addon for ${process.platform}-${process.arch}. Tried:\n${tried.join("\n")}\n` +
      "Install it again on this platform, without --omit=optional. Do not copy node_modules from another platform. " +
      "Or build the addon from the repository: `npm ci && npm run build` (needs Rust).",
  );
}
