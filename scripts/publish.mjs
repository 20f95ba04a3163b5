// Publishes the tarballs that scripts/pack.mjs made, in the order of SHA256SUMS: `node scripts/publish.mjs <folder> [--dry-run]`.
// Needs no token, because npm asks GitHub who runs the workflow. Skips versions that npm already has, so a publication
// that failed can be repeated.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The first npm version that publishes without a token. */
const OLDEST = [11, 5, 1];

const dry = process.argv.includes("--dry-run");
const given = process.argv.slice(2).find((argument) => argument !== "--dry-run");
const folder = resolve(given ?? ".");
const npm = (args, options) => spawnSync("npm", args, { encoding: "utf8", ...options });

const version = npm(["--version"]).stdout.trim().split(".").map(Number);
if (!dry && version.map((part, at) => part - OLDEST[at]).find((part) => part !== 0) < 0) {
  console.error(`npm ${version.join(".")} is too old: ${OLDEST.join(".")} publishes without a token`);
  process.exit(1);
}

const tarballs = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
for (const [sum, file] of tarballs.map((line) => line.split("  "))) {
  const bytes = readFileSync(join(folder, file));
  if (createHash("sha256").update(bytes).digest("hex") !== sum) throw new Error(`${file} isn't the file of SHA256SUMS`);
  const { name, version: own } = JSON.parse(
    execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"], { encoding: "utf8" }),
  );
  // npm prints nothing about a missing version.
  if (!dry && npm(["view", `${name}@${own}`, "version"]).stdout.trim() === own) {
    console.log(`npm has ${name}@${own}`);
    continue;
  }
  const tag = own.includes("-") ? "next" : "latest";
  const args = ["publish", `./${file}`, "--access", "public", "--tag", tag, dry ? "--dry-run" : "--provenance"];
  console.log(`> npm ${args.join(" ")}`);
  const { status } = npm(args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
