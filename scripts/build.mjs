// Builds the addon for this machine and the TypeScript side: `npm run build`. Does only what has changed.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (command, args) =>
  execFileSync(command, args, { cwd: root, stdio: "inherit", shell: process.platform === "win32" });

/** The platform's name in npm's and napi's spelling, and what cargo calls a dynamic library there. */
export function platform() {
  const { platform, arch } = process;
  if (platform === "win32") return { name: `win32-${arch}-msvc`, library: "forkpoint.dll" };
  if (platform === "darwin") return { name: `darwin-${arch}`, library: "libforkpoint.dylib" };
  process.report.excludeNetwork = true;
  const glibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  return { name: `${platform}-${arch}-${glibc ? "gnu" : "musl"}`, library: "libforkpoint.so" };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    run("cargo", ["build", "--release", "--locked", "--lib"]);
  } catch (error) {
    if (error.code === "ENOENT") console.error("forkpoint is built with Rust: install it from https://rustup.rs");
    process.exit(1);
  }
  const { name, library } = platform();
  const addon = `${root}/forkpoint.${name}.node`;
  // Removed first: overwriting a library that a process has loaded would crash it.
  rmSync(addon, { force: true });
  copyFileSync(`${root}/target/release/${library}`, addon);
  rmSync(`${root}/dist`, { recursive: true, force: true });
  run(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, "-p", root]);
}
