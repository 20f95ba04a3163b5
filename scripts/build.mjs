// Builds the addon for this machine and the TypeScript code: `npm run build`. This build is quick. The measured and
// released addon takes minutes: `npm run build -- --release`.
// `npm run build -- --target linux-arm64-gnu` builds only the addon of another platform. Several platforms, or `all`, are allowed.
import { copyFileSync, rmSync, statSync } from "node:fs";
import { compile } from "./compile.mjs";
import { here, library, platforms } from "./platforms.mjs";
import { root, run } from "./setup.mjs";

const release = process.argv.includes("--release");
const after = process.argv.indexOf("--target") + 1;
const targets = after === 0 ? [] : process.argv.slice(after).filter((argument) => argument !== "--release");

/** Puts a built library where the package looks for its addon. */
function place(file, platform) {
  const addon = `${root}forkpoint.${platform}.node`;
  // First remove the old addon: overwriting a loaded library would crash its process.
  rmSync(addon, { force: true });
  copyFileSync(file, addon);
  return addon;
}

if (after > 0) {
  const { build } = await import("./cross/build.mjs");
  if (targets.length === 0) throw new RangeError(`name a platform, or all: ${Object.keys(platforms).join(", ")}`);
  for (const platform of targets.includes("all") ? Object.keys(platforms) : targets) {
    const begun = performance.now();
    const addon = place(build(platform, { release }), platform);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    console.log(`${addon.replace(root, "")}: ${statSync(addon).size} bytes, built in ${seconds} s`);
  }
} else {
  // The addon may come from another machine: see .github/workflows/ci.yml.
  if (process.env["FORKPOINT_BUILT"] === undefined) {
    run("cargo", ["build", "--locked", "--lib", "--target-dir", "target", ...(release ? ["--release"] : [])]);
    place(`${root}target/${release ? "release" : "debug"}/${library(process.platform)}`, here());
  }
  await compile();
}
