// The tools of the cross builds, and of the runs on other platforms, with their versions.
import { join } from "node:path";
import { debian, pypi } from "./fetch.mjs";

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
  return pypi("zig", ["ziglang==0.13.0.post1", "cargo-zigbuild==0.20.1"], ["manylinux_2_5_x86_64", "manylinux_2_12_x86_64"]);
}

/** Returns the folder of the tool that makes import libraries for Windows. */
export function mingw() {
  return join(debian("mingw", ["binutils-mingw-w64-x86-64=2.40-2+10.4"]), "usr");
}
