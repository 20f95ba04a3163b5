// Checks what an addon needs from the system, without running it.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { platforms } from "../platforms.mjs";
import { GLIBC } from "./build.mjs";
import { newestGlibc, readElf } from "./elf.mjs";
import { cache } from "./fetch.mjs";
import { readMachO } from "./macho.mjs";
import { readPe } from "./pe.mjs";
import { zig } from "./tools.mjs";

/** The libraries that every Linux with this C library and Node.js has. */
const linux = {
  glibc:
    /^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|libutil\.so\.1|libgcc_s\.so\.1|ld-linux-.*)$/,
  musl: /^libc\.so$/,
};

/** Some machines with arm64 have pages of 64 KiB. An addon that is aligned for smaller pages can't be loaded there. */
const LARGEST_PAGE = 0x10000;

/** The libraries that Windows 10 has. */
const windows =
  /^(advapi32|bcrypt|bcryptprimitives|crypt32|kernel32|ntdll|secur32|user32|userenv|ws2_32|msvcrt|ucrtbase|api-ms-win-[a-z0-9-]+)\.dll$/;

/** The oldest macOS that Node.js 20 and 22 run on. */
const OLDEST_MACOS = 11;

function ofLinux(platform, file) {
  const { libc, cpu } = platforms[platform];
  const { needed, align } = readElf(file);
  const problems = needed.filter((name) => !linux[libc].test(name)).map((name) => `it needs ${name}`);
  if (cpu === "arm64" && align < LARGEST_PAGE) problems.push(`its pages are aligned to ${align} bytes only`);
  const glibc = newestGlibc(file);
  const [, minor] = GLIBC.split(".").map(Number);
  if (libc === "glibc" && !(glibc[0] === 2 && glibc[1] <= minor)) problems.push(`it needs glibc ${glibc.join(".")}`);
  if (libc === "musl" && glibc !== undefined) problems.push(`it needs glibc ${glibc.join(".")}`);
  return { problems, said: libc === "glibc" ? `glibc ${glibc.join(".")}` : `needs ${needed.join(", ")}` };
}

/** Returns the names that stubs (`.tbd`) of libraries list. */
function listed(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".tbd"));
  return new Set(files.flatMap((file) => readFileSync(join(folder, file), "utf8").match(/[\w$.]+/g)));
}

function ofMacOs(platform, file) {
  const { imports, minimum, libraries } = readMachO(file);
  const system = listed(join(zig(), "ziglang/lib/libc/darwin"));
  const frameworks = listed(join(cache, `sdk-${platforms[platform].cpu}`));
  const problems = [];
  for (const { name, library } of imports) {
    if (library === undefined) problems.push(`no library has ${name}`);
    else if (library.startsWith("/usr/lib/") ? !system.has(name) : !frameworks.has(name))
      problems.push(`${library} has no ${name}`);
  }
  const others = libraries.filter(
    (name) => !/^\/(usr\/lib\/lib(System|iconv|objc)|System\/Library\/Frameworks\/)/.test(name),
  );
  // The first one may be its own name.
  problems.push(...others.map((name) => `it needs ${name}`));
  if (Number.parseInt(minimum, 10) > OLDEST_MACOS) problems.push(`it needs macOS ${minimum}`);
  return { problems, said: `macOS ${minimum}, ${imports.length} imports from ${libraries.length} libraries` };
}

function ofWindows(_, file) {
  const libraries = readPe(file);
  const names = Object.keys(libraries);
  return {
    problems: names.filter((name) => !windows.test(name)).map((name) => `it needs ${name}`),
    said: `needs ${names.join(", ")}`,
  };
}

/** Returns what an addon needs, in words. Calls `fail` if that is more than each machine of its platform has. */
export function inspect(platform, path, fail) {
  const file = readFileSync(path);
  const read = { linux: ofLinux, darwin: ofMacOs, win32: ofWindows }[platforms[platform].os];
  const { problems, said } = read(platform, file);
  if (problems.length > 0) fail(`${platform}: ${problems.join("; ")}`);
  return `${file.length} bytes, ${said}`;
}
