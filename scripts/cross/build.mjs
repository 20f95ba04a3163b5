// Builds the addon of any platform on Linux x64, with zig as the C compiler and the linker.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { library, platforms } from "../platforms.mjs";
import { root, run } from "../setup.mjs";
import { refuse, cache } from "./fetch.mjs";
import { frameworkStubs, libnode } from "./stubs.mjs";
import { mingw, rust, zig } from "./tools.mjs";

/** The oldest glibc that a released addon needs: every Linux that Node.js 20 runs on has it. */
export const GLIBC = "2.17";

/** The folder of the cross builds. The compiler is another than the machine's, so they share nothing. */
const builds = `${root}target/cross`;

/**
 * A build for tries and tests: the engine isn't optimized, and nothing has debug information. The crates that are slow
 * when they aren't optimized are.
 */
const QUICK = [
  "profile.dev.debug=false",
  "profile.dev.package.forkpoint-engine.opt-level=0",
  'profile.dev.package."*".opt-level=1',
].flatMap((setting) => ["--config", setting]);

/** Returns the target that is built here. Microsoft's C library is in no package, so Windows uses GNU's kind of target. */
export function targetOf(platform) {
  const { target, os, cpu } = platforms[platform];
  if (os !== "win32") return target;
  return cpu === "x64" ? "x86_64-pc-windows-gnu" : "aarch64-pc-windows-gnullvm";
}

/** Returns the environment of cargo for a cross build. */
function environment(platform) {
  const { os, cpu, libc } = platforms[platform];
  const compiler = rust();
  const zigs = zig();
  const helper = join(zigs, "cargo_zigbuild-0.20.1.data/scripts");
  const paths = [join(compiler, "usr/bin"), helper, join(zigs, "ziglang")];
  const env = {
    LD_LIBRARY_PATH: join(compiler, "usr/lib/x86_64-linux-gnu"),
    // Debian's compiler is a stable one. The standard library is built for targets that it has none of.
    RUSTC_BOOTSTRAP: "1",
    // rustup's cargo would take a toolchain of its own.
    RUSTUP_TOOLCHAIN: "",
    CARGO_INCREMENTAL: "0",
    CARGO_TARGET_DIR: builds,
    // A dynamic library for musl needs the C library of the system, not one of its own.
    // Debian has no tool that strips symbols for macOS, so the linker leaves them out.
    RUSTFLAGS: libc === "musl" ? "-C target-feature=-crt-static" : os === "darwin" ? "-C link-arg=-Wl,-s" : "",
    ...(os === "darwin" && { CARGO_PROFILE_RELEASE_STRIP: "none" }),
  };
  if (os === "win32") {
    paths.push(join(mingw(), "bin"));
    const machine = cpu === "x64" ? "i386:x86-64" : "arm64";
    env.LIBNODE_PATH = libnode(machine, join(zigs, "ziglang/zig"), join(cache, `libnode-${cpu}`));
  }
  if (os === "darwin") env.SDKROOT = frameworkStubs(platform, join(cache, `sdk-${cpu}`));
  return { ...env, PATH: [...paths, process.env["PATH"]].join(":") };
}

/** Returns true if Debian has the standard library of this platform, so that it need not be built. */
const hasStd = (platform) => platforms[platform].libc === "glibc";

/** Runs a command of cargo for a platform, such as `["test", "--no-run"]`. */
export function cargo(platform, command, { release = false } = {}) {
  const { libc } = platforms[platform];
  const target = targetOf(platform) + (libc === "glibc" ? `.${GLIBC}` : "");
  const std = hasStd(platform) ? [] : ["-Zbuild-std=std,panic_unwind"];
  const [subcommand, ...args] = command;
  const own = ["--locked", ...args, "--target", target, ...std, ...(release ? ["--release"] : QUICK)];
  run("cargo-zigbuild", [subcommand, ...own], { env: environment(platform) });
}

/** Builds the addon of a platform, and returns the path of the library. */
export function build(platform, { release = false } = {}) {
  if (platforms[platform] === undefined)
    refuse(`there is no platform ${platform}: ${Object.keys(platforms).join(", ")}`);
  if (process.platform !== "linux" || process.arch !== "x64")
    refuse(
      `the addon of ${platform} is built on Linux x64, or on a machine of its own: see .github/workflows/release.yml`,
    );
  cargo(platform, ["zigbuild", "--lib"], { release });
  const file = `${builds}/${targetOf(platform)}/${release ? "release" : "debug"}/${library(platforms[platform].os)}`;
  if (!existsSync(file)) refuse(`the build of ${platform} has not written ${file}`);
  return file;
}
