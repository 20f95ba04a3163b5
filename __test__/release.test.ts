// Tests the layout of a release: a package for each of the seven platforms, and the main package that names all of them.
// The addons are fake files, because this machine can build only its own.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder } from "./helpers.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What npm compares with the user's machine, by platform. */
const platforms: Record<string, { os: string[]; cpu: string[]; libc?: string[] }> = {
  "linux-x64-gnu": { os: ["linux"], cpu: ["x64"], libc: ["glibc"] },
  "linux-arm64-gnu": { os: ["linux"], cpu: ["arm64"], libc: ["glibc"] },
  "linux-x64-musl": { os: ["linux"], cpu: ["x64"], libc: ["musl"] },
  "linux-arm64-musl": { os: ["linux"], cpu: ["arm64"], libc: ["musl"] },
  "darwin-x64": { os: ["darwin"], cpu: ["x64"] },
  "darwin-arm64": { os: ["darwin"], cpu: ["arm64"] },
  "win32-x64-msvc": { os: ["win32"], cpu: ["x64"] },
};

/** Makes a folder with a fake addon for each platform. */
function addons(): string {
  const made = folder();
  for (const platform of Object.keys(platforms)) writeFileSync(join(made, `forkpoint.${platform}.node`), platform);
  return made;
}

/** Returns the files that the conditions of an export name. */
function filesOf(entry: unknown): string[] {
  return typeof entry === "string" ? [entry] : Object.values(entry as object).flatMap(filesOf);
}

function release(from: string, to: string) {
  const script = join(root, "scripts/release.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, from, to, "--all"], { encoding: "utf8" });
  return { status, stderr };
}

describe("a release", () => {
  it("has a package for each platform, which npm installs only there", () => {
    const output = folder();
    expect(release(addons(), output)).toEqual({ status: 0, stderr: "" });
    const packages = [...Object.keys(platforms), "forkpoint", "forkpoint-conformance"];
    expect(readdirSync(output).toSorted()).toEqual(packages.toSorted());
    const suites = JSON.parse(readFileSync(join(output, "forkpoint-conformance/package.json"), "utf8"));
    expect([suites.name, suites.version, suites.license]).toEqual(["forkpoint-conformance", manifest.version, "MIT"]);
    for (const file of ["dist/cli.js", "dist/index.js", "dist/index.d.ts", "README.md", "LICENSE"])
      expect(existsSync(join(output, "forkpoint-conformance", file)), file).toBe(true);
    for (const [platform, machine] of Object.entries(platforms)) {
      const addon = `forkpoint.${platform}.node`;
      const { name, version, os, cpu, libc, main, files, scripts, license, repository, engines } = JSON.parse(
        readFileSync(join(output, platform, "package.json"), "utf8"),
      );
      expect({ name, version, main, files }).toEqual({
        name: `forkpoint-${platform}`,
        version: manifest.version,
        main: addon,
        files: [addon, "LICENSES.txt"],
      });
      expect({ os, cpu, ...(libc && { libc }) }).toEqual(machine);
      expect({ license, repository, engines }).toEqual({
        license: manifest.license,
        repository: manifest.repository,
        engines: manifest.engines,
      });
      expect(scripts).toBeUndefined();
      expect(readFileSync(join(output, platform, addon), "utf8")).toBe(platform);
      expect(existsSync(join(output, platform, "LICENSE"))).toBe(true);
      const licences = readFileSync(join(output, platform, "LICENSES.txt"), "utf8");
      for (const linked of ["zstd-sys", "rusqlite", "napi", "tokio-postgres", "windows-sys"])
        expect(licences).toMatch(new RegExp(`^${linked} .*: .*MIT|^${linked} .*: BSD-3-Clause`, "m"));
      for (const text of ["SQLite itself is in the public domain", "Meta Platforms", "Microsoft"])
        expect(licences).toContain(text);
      // What only builds or tests is not in the addon.
      for (const other of ["proptest", "napi-derive", "napi-build", "cc"])
        expect(licences).not.toMatch(new RegExp(`^${other} \\d`, "m"));
    }
  });

  it("has a main package that depends on all of them, in its own version", () => {
    const output = folder();
    release(addons(), output);
    const main = JSON.parse(readFileSync(join(output, "forkpoint/package.json"), "utf8"));
    expect(main.optionalDependencies).toEqual(
      Object.fromEntries(Object.keys(platforms).map((platform) => [`forkpoint-${platform}`, manifest.version])),
    );
    expect(main.exports).toEqual(manifest.exports);
    expect(readdirSync(join(output, "forkpoint")).filter((file) => file.endsWith(".node"))).toEqual([]);
    // Everything that the package exports is in it.
    const exported = filesOf(main.exports);
    expect(exported.length).toBeGreaterThan(10);
    for (const file of exported) expect(existsSync(join(output, "forkpoint", file)), file).toBe(true);
  });

  it.each(Object.keys(platforms))("fails without the addon of %s, and lays out no main package", (platform) => {
    const [from, output] = [addons(), folder()];
    rmSync(join(from, `forkpoint.${platform}.node`));
    const { status, stderr } = release(from, output);
    expect(status).toBe(1);
    expect(stderr).toContain(`forkpoint.${platform}.node is missing`);
    expect(existsSync(join(output, "forkpoint"))).toBe(false);
  });

  it("refuses an addon of a platform that it does not know", () => {
    const from = addons();
    writeFileSync(join(from, "forkpoint.linux-riscv64-gnu.node"), "");
    const { status, stderr } = release(from, folder());
    expect([status, stderr]).toEqual([1, expect.stringContaining("forkpoint.linux-riscv64-gnu.node has no platform")]);
  });
});

describe("the release workflow", () => {
  const workflow = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

  it("builds an addon for each platform", () => {
    const built = [...workflow.matchAll(/- \{ platform: ([\w-]+), target: /g)].map(([, platform]) => platform);
    expect(built.toSorted()).toEqual(Object.keys(platforms).toSorted());
  });

  it("lays out the packages with --all, and publishes them after that", () => {
    const layout = workflow.indexOf("node scripts/release.mjs addons packages --all");
    expect(layout).toBeGreaterThan(0);
    expect(workflow.indexOf("npm publish")).toBeGreaterThan(layout);
  });
});
