// Runs programs of other platforms on Linux x64: musl beside the machine's C library, arm64 in qemu, Windows in wine. What a
// run needs is in namespaces of its own, so the machine stays as it is, and nothing is installed.
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, cpSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cache } from "./fetch.mjs";
import { arm64, musl, node, qemu, wine, zig } from "./tools.mjs";

/** The first bytes of a program for arm64, and which of them count. */
const ELF_ARM64 = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`;
const ELF_MASK = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`;

/** How each platform runs here. Each entry says in words how, and has the shell code that prepares the namespaces. */
const machines = {
  "linux-x64-gnu": { how: "native", prepare: () => "true" },
  "linux-x64-musl": {
    how: "native, with Debian's musl",
    // Programs name their loader by its path, which only this mount has.
    prepare: () =>
      `mount -t overlay overlay -o lowerdir=${join(musl("x64"), "lib")}:/usr/lib /usr/lib && ` +
      `mount --bind ${join(musl("x64"), "usr/bin/ldd")} /usr/bin/ldd`,
  },
  "linux-arm64-gnu": { how: "qemu", prepare: () => emulated(arm64()) },
  "linux-arm64-musl": { how: "qemu", prepare: () => emulated(musl("arm64")) },
};

/** Registers qemu for programs of arm64. Since Linux 6.7, a user's namespace has a register of its own. */
function emulated(libraries) {
  const entry = `:qemu-aarch64:M::${ELF_ARM64}:${ELF_MASK}:${qemu()}:OCF`;
  return [
    "mount -t binfmt_misc none /proc/sys/fs/binfmt_misc",
    `printf %s '${entry}' > /proc/sys/fs/binfmt_misc/register`,
    `export QEMU_LD_PREFIX=${libraries}`,
  ].join(" && ");
}

/** The platforms that run here. */
export const runnable = [...Object.keys(machines), "win32-x64-msvc"];

/** Says how a platform runs here. */
export const howItRuns = (platform) => machines[platform]?.how ?? "wine";

/** Makes the library of random bytes that Rust's programs for Windows need, and that wine 8 lacks. */
function addRandom(path) {
  const source = join(cache, "bcryptprimitives.c");
  const random = "unsigned char SystemFunction036(void *, unsigned long);";
  writeFileSync(
    source,
    `${random}\n__declspec(dllexport) int ProcessPrng(unsigned char *to, unsigned long long n) { return SystemFunction036(to, (unsigned long)n); }\n`,
  );
  const args = ["cc", "-target", "x86_64-windows-gnu", "-shared", "-s", "-o", path, source, "-ladvapi32"];
  execFileSync(join(zig(), "ziglang/zig"), args, { stdio: "inherit" });
}

/** Returns the command that runs a program for Windows. */
function withWine(command) {
  const folder = wine();
  const prefix = join(cache, "wineprefix");
  const settings = {
    WINEPREFIX: prefix,
    WINEDEBUG: "-all",
    WINEARCH: "win64",
    // Wine would ask to install these two, and write menus.
    WINEDLLOVERRIDES: "mscoree=d;mshtml=d;winemenubuilder.exe=d",
    LD_LIBRARY_PATH: join(folder, "usr/lib/x86_64-linux-gnu"),
    DISPLAY: "",
  };
  const set = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const loader = [...set, join(folder, "usr/lib/wine/wine64")];
  const zlib = join(prefix, "drive_c/windows/system32/zlib1.dll");
  if (!existsSync(zlib)) {
    const library = join(folder, "usr/x86_64-w64-mingw32/lib/zlib1.dll");
    // The first start needs it here, and later ones there.
    cpSync(library, join(folder, "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"));
    rmSync(prefix, { recursive: true, force: true });
    // Any first start makes the files of Windows. It then fails, because they don't include zlib yet.
    spawnSync("env", [...loader, "wineboot", "-i"], { stdio: "ignore" });
    execFileSync("env", [...set, join(folder, "usr/lib/wine/wineserver64"), "-w"], { stdio: "ignore" });
    cpSync(library, zlib);
    // Node.js needs Windows 10.
    execFileSync(
      "env",
      [...loader, "reg", "add", String.raw`HKCU\Software\Wine`, "/v", "Version", "/d", "win10", "/f"],
      { stdio: "ignore" },
    );
    addRandom(join(prefix, "drive_c/windows/system32/bcryptprimitives.dll"));
  }
  return ["env", ...loader, ...command];
}

/** Returns a path as programs of the platform name it. */
export const pathOn = (platform, path) => (platform.startsWith("win32") ? `Z:${path.replaceAll("/", "\\")}` : path);

/** Returns the program and the arguments that run `command` on `platform`. */
export function onPlatform(platform, command) {
  if (platform === "linux-x64-gnu") return command;
  if (platform === "win32-x64-msvc") return withWine(command);
  const script = `${machines[platform].prepare()} && exec "$@"`;
  return ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", ...command];
}

/** Returns the path of Node.js for a platform. */
export function nodeOf(platform) {
  if (platform === "linux-x64-gnu") return process.execPath;
  return platform === "win32-x64-msvc" ? join(node(platform), "node.exe") : join(node(platform), "bin/node");
}

/** Runs Node.js on a platform, and returns its status. */
export function on(platform, args, settings) {
  const [program, ...rest] = onPlatform(platform, [nodeOf(platform), ...args]);
  if (platform !== "win32-x64-msvc") return spawnSync(program, rest, { stdio: "inherit", ...settings }).status;
  // Node.js can't write to a pipe that isn't one of wine's own, so a file has its output.
  const output = join(cache, "wine.log");
  const file = openSync(output, "w");
  const { status } = spawnSync(program, rest, { ...settings, stdio: ["ignore", file, file] });
  closeSync(file);
  console.log(readFileSync(output, "utf8"));
  return status;
}
