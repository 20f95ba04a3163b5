// Lays out this repository and a user's project for another platform, each in a folder of its own.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { platforms } from "../platforms.mjs";
import { install, locked, root, run } from "../setup.mjs";
import { on, pathOn } from "./machine.mjs";
import { node } from "./tools.mjs";

const folderOf = (platform, name) => `${root}target/platforms/${platform}/${name}`;

/** Returns the path of npm. Each archive of Node.js has it, and an emulator runs it, too. */
function npmOf(platform) {
  if (platform === "linux-x64-gnu")
    return execFileSync("sh", ["-c", "readlink -f $(command -v npm)"], { encoding: "utf8" }).trim();
  return join(node(platform), "lib/node_modules/npm/bin/npm-cli.js");
}

/** Makes a user's project in an empty folder, with the platform's own npm, and returns the folder. */
export function project(platform, tarballs) {
  const folder = folderOf(platform, "project");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const paths = [npmOf(platform), ...tarballs].map((path) => pathOn(platform, path));
  const [npm, ...files] = paths;
  const args = [npm, "install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", ...files];
  const status = on(platform, args, { cwd: folder });
  if (status !== 0) throw new Error(`npm can't install the packages on ${platform}`);
  // LangGraph is JavaScript only, and installed for the tests already.
  install(`${root}integration/langgraph/`);
  const installed = `${root}integration/langgraph/node_modules`;
  // Wine doesn't resolve links, by which Node.js finds what LangGraph needs. So its packages are copied there.
  if (platform.startsWith("win32")) {
    const filter = (path) => ![`${installed}/forkpoint`, `${installed}/.bin`].includes(path);
    cpSync(installed, join(folder, "node_modules"), { recursive: true, filter });
  } else symlinkSync(`${installed}/@langchain`, join(folder, "node_modules/@langchain"));
  cpSync(`${root}integration/langgraph/fixtures/smoke.mjs`, join(folder, "smoke.mjs"));
  return folder;
}

/** Copies the repository with the built TypeScript code and the platform's addon, and installs the tools for it. */
export function checkout(platform) {
  const folder = folderOf(platform, "checkout");
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\0")
    .filter((file) => file !== "" && existsSync(root + file));
  const addon = `forkpoint.${platform}.node`;
  // The packages stay, because installing them takes longest.
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name !== "node_modules") rmSync(join(folder, name), { recursive: true });
  for (const file of [...files, "dist", "conformance/dist", "ts/bridge/calls.generated.ts", addon])
    cpSync(root + file, join(folder, file), { recursive: true });
  const { os, cpu, libc } = platforms[platform];
  const wanted = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])];
  if (!existsSync(join(folder, "node_modules/.package-lock.json")))
    run(locked.command, [...locked.args, ...wanted], { cwd: folder });
  return folder;
}
