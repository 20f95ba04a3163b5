// Runs programs of other platforms on Linux x64: musl beside the machine's C library, arm64 in qemu, Windows in wine. What a
// run needs is in namespaces of its own, so the machine stays as it is, and nothing is installed.
import { join } from "node:path";
import { arm64, musl, node, qemu } from "./tools.mjs";

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
export const runnable = Object.keys(machines);

/** Says how a platform runs here. */
export const howItRuns = (platform) => machines[platform].how;

/** Returns the program and the arguments that run `command` on `platform`. */
export function onPlatform(platform, command) {
  if (platform === "linux-x64-gnu") return command;
  const script = `${machines[platform].prepare()} && exec "$@"`;
  return ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", ...command];
}

/** Returns the path of Node.js for a platform. */
export function nodeOf(platform) {
  return platform === "linux-x64-gnu" ? process.execPath : join(node(platform), "bin/node");
}
