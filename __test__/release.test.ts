// Tests the layout of a release: a package for each platform, and the main package that names all of them. Their bills of
// materials, tarballs, checksums and notes are tested too. The addons are fake files, because this machine can build only
// its own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
  "win32-arm64-msvc": { os: ["win32"], cpu: ["arm64"] },
};

/** Makes a fake addon for each platform in a folder. */
function makeAddons(made: string): string {
  for (const platform of Object.keys(platforms)) writeFileSync(join(made, `forkpoint.${platform}.node`), platform);
  return made;
}

const addons = (): string => makeAddons(folder());

/** Returns the files that the conditions of an export name. */
function filesOf(entry: unknown): string[] {
  return typeof entry === "string" ? [entry] : Object.values(entry as object).flatMap(filesOf);
}

function script(name: string, ...args: string[]) {
  const run = spawnSync(process.execPath, [join(root, "scripts", name), ...args], { encoding: "utf8" });
  return { status: run.status, stderr: run.stderr, stdout: run.stdout };
}

function release(from: string, to: string) {
  const { status, stderr } = script("release.mjs", from, to, "--all");
  return { status, stderr };
}

/** The packages of a release, which tests only read. */
const home = mkdtempSync(join(tmpdir(), "forkpoint-release-"));
const output = join(home, "packages");
let laidOut: ReturnType<typeof release>;
beforeAll(() => {
  const from = join(home, "addons");
  mkdirSync(from);
  laidOut = release(makeAddons(from), output);
}, 180_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("a release", () => {
  it("has a package for each platform, which npm installs only there", () => {
    expect(laidOut).toEqual({ status: 0, stderr: "" });
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
        files: [addon, "LICENSES.txt", "sbom.cdx.json"],
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
    const main = JSON.parse(readFileSync(join(output, "forkpoint/package.json"), "utf8"));
    expect(main.optionalDependencies).toEqual(
      Object.fromEntries(Object.keys(platforms).map((platform) => [`forkpoint-${platform}`, manifest.version])),
    );
    expect(main.exports).toEqual(manifest.exports);
    expect(main.files).toEqual([...manifest.files.filter((file: string) => file !== "*.node"), "sbom.cdx.json"]);
    expect(readdirSync(join(output, "forkpoint")).filter((file) => file.endsWith(".node"))).toEqual([]);
    // Everything that the package exports is in it.
    const exported = filesOf(main.exports);
    expect(exported.length).toBeGreaterThan(10);
    for (const file of exported) expect(existsSync(join(output, "forkpoint", file)), file).toBe(true);
  });

  it.each(["linux-x64-gnu", "win32-arm64-msvc"])(
    "fails without the addon of %s, and lays out no main package",
    (platform) => {
      const [from, to] = [addons(), folder()];
      rmSync(join(from, `forkpoint.${platform}.node`));
      const { status, stderr } = release(from, to);
      expect(status).toBe(1);
      expect(stderr).toContain(`forkpoint.${platform}.node is missing`);
      expect(existsSync(join(to, "forkpoint"))).toBe(false);
    },
  );

  it("refuses an addon of a platform that it does not know", () => {
    const from = addons();
    writeFileSync(join(from, "forkpoint.linux-riscv64-gnu.node"), "");
    const { status, stderr } = release(from, folder());
    expect([status, stderr]).toEqual([1, expect.stringContaining("forkpoint.linux-riscv64-gnu.node has no platform")]);
  });
});

describe("the bills of materials", () => {
  const text = (name: string) => readFileSync(join(output, name, "sbom.cdx.json"), "utf8");
  const packages = [...Object.keys(platforms), "forkpoint", "forkpoint-conformance"];

  /** Returns the references of what a package contains, without the versions. */
  const contents = (name: string): string[] =>
    JSON.parse(text(name)).components.map((each: any) => each["bom-ref"].replace(/(?<=.)@[^@]*$/, ""));

  it.each(packages)("of %s is CycloneDX 1.6, and the same each time", async (name) => {
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text(name))).toBeNull();
    const bill = JSON.parse(text(name));
    const { name: own, version } = JSON.parse(readFileSync(join(output, name, "package.json"), "utf8"));
    expect(bill.metadata).toMatchObject({ component: { name: own, version, purl: `pkg:npm/${own}@${version}` } });
    // Each component has a licence, and each reference leads to a component.
    const refs: string[] = [bill.metadata.component, ...bill.components].map((each: any) => each["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    expect(bill.dependencies.map(({ ref }: any) => ref)).toEqual(refs);
    for (const { dependsOn = [] } of bill.dependencies) expect(refs).toEqual(expect.arrayContaining(dependsOn));
    for (const { licenses } of bill.components) expect(licenses[0].expression).toMatch(/^[\w .()-]+$/);
    // Nothing of this machine and of this moment.
    for (const path of [root, homedir(), process.execPath]) expect(text(name)).not.toContain(path);
    expect(text(name)).not.toMatch(/timestamp|serialNumber|file:|\d{4}-\d{2}-\d{2}T/);
  });

  it.each(Object.keys(platforms))("of the addon for %s has its crates and its C code", (platform) => {
    const found = contents(platform);
    for (const name of ["rusqlite", "libsqlite3-sys", "zstd-sys", "napi", "tokio-postgres", "ring", "forkpoint-engine"])
      expect(found).toContain(`pkg:cargo/${name}`);
    for (const name of ["sqlite", "zstd", "fiat-crypto"]) expect(found.join("\n")).toContain(`pkg:generic/${name}`);
    const { components } = JSON.parse(text(platform));
    const versionOf = (ref: string) => components.find((each: any) => each["bom-ref"].startsWith(ref)).version;
    expect(versionOf("pkg:generic/sqlite@")).toMatch(/^3\.\d+\.\d+$/);
    expect(versionOf("pkg:generic/zstd@")).toMatch(/^1\.\d+\.\d+$/);
    // Each platform has only its own code, and no code that only builds or tests.
    expect(found.includes("pkg:generic/mimalloc")).toBe(platform.startsWith("linux"));
    expect(found.includes("pkg:cargo/windows-sys")).toBe(platform.startsWith("win32"));
    for (const name of ["proptest", "tempfile", "napi-derive", "napi-build", "cc"])
      expect(found).not.toContain(`pkg:cargo/${name}`);
  });

  it("of the main package has the addons, and what its tools bundle", () => {
    const found = contents("forkpoint");
    const names = ["commander", "%40clack/prompts", "preact", "%40preact/signals"];
    for (const name of [...names, ...Object.keys(platforms).map((platform) => `forkpoint-${platform}`)])
      expect(found).toContain(`pkg:npm/${name}`);
    for (const name of ["vitest", "typescript", "esbuild", "prettier"]) expect(found).not.toContain(`pkg:npm/${name}`);
    expect(contents("forkpoint-conformance")).toEqual([]);
  });
});

describe("the tarballs", () => {
  const some = ["linux-x64-gnu", "win32-arm64-msvc"];

  it("are the same each time, and have checksums, in the order of publishing", { timeout: 180_000 }, () => {
    const [first, second] = ["first", "second"].map((): string => {
      const [from, packages, tarballs] = [folder(), folder(), folder()];
      // Two platforms are enough for the order.
      for (const platform of some) writeFileSync(join(from, `forkpoint.${platform}.node`), platform);
      expect(script("release.mjs", from, packages)).toMatchObject({ status: 0, stderr: "" });
      expect(script("pack.mjs", packages, tarballs)).toMatchObject({ status: 0, stderr: "" });
      return tarballs;
    }) as [string, string];
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(sums);
    const lines = sums.trimEnd().split("\n");
    const names = [...some.map((platform) => `forkpoint-${platform}`), "forkpoint", "forkpoint-conformance"];
    expect(lines.map((line) => line.split("  ")[1])).toEqual(names.map((name) => `${name}-${manifest.version}.tgz`));
    for (const [sum, file] of lines.map((line) => line.split("  ") as [string, string]))
      expect(
        createHash("sha256")
          .update(readFileSync(join(first, file)))
          .digest("hex"),
      ).toBe(sum);
    if (process.platform === "linux")
      expect(spawnSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: first }).status).toBe(0);
    // A file that was changed isn't published.
    writeFileSync(join(first, lines[0]!.split("  ")[1]!), "something else");
    const published = script("publish.mjs", first, "--dry-run");
    expect(published.status).toBe(1);
    expect(published.stderr).toContain("isn't the file of SHA256SUMS");
  });
});

describe("the notes", () => {
  it("are those of the version, with links that lead to the repository", () => {
    const { status, stdout } = script("notes.mjs", `v${manifest.version}`);
    expect(status).toBe(0);
    expect(stdout.length).toBeGreaterThan(100);
    expect(stdout).not.toMatch(/^## /m);
    expect(stdout).not.toMatch(/\]\((?!https:)/);
    expect(script("notes.mjs").stdout).toBe(stdout);
  });

  it("need a tag that is the version", () => {
    expect(script("notes.mjs", "v99.0.0")).toMatchObject({
      status: 1,
      stderr: `the tag is v99.0.0, and package.json has the version ${manifest.version}\n`,
      stdout: "",
    });
  });
});

describe("the release workflow", () => {
  const workflow = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

  it("builds an addon for each platform", () => {
    const built = [...workflow.matchAll(/- \{ platform: ([\w-]+), target: /g)].map(([, platform]) => platform);
    expect(built.toSorted()).toEqual(Object.keys(platforms).toSorted());
  });

  it("tries each addon before it publishes", () => {
    const tried = [...workflow.matchAll(/- \{ platform: ([\w-]+), os: /g)].map(([, platform]) => platform);
    expect(tried.toSorted()).toEqual(Object.keys(platforms).toSorted());
  });

  it("checks the tag, lays out the packages with --all, packs them, and publishes them after that", () => {
    const steps = [
      "notes.mjs",
      "release.mjs addons packages --all",
      "pack.mjs packages tarballs",
      "publish.mjs tarballs",
    ];
    const places = steps.map((step) => workflow.indexOf(`node scripts/${step}`));
    expect(Math.min(...places)).toBeGreaterThan(0);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("publishes without a token, and only for a tag", () => {
    expect(workflow).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/);
    const publish = workflow.slice(workflow.indexOf("\n  publish:"), workflow.indexOf("\n  github:"));
    expect(publish).toContain("if: github.event_name == 'push'");
    expect(publish).toContain("id-token: write");
    expect(workflow.split("id-token: write").length).toBe(2);
  });
});

describe("the workflows", () => {
  it("name each action by its commit", () => {
    const folderOf = join(root, ".github/workflows");
    const text = readdirSync(folderOf).map((file) => readFileSync(join(folderOf, file), "utf8"));
    // A workflow of this repository has the commit of the workflow that uses it.
    const used = Array.from(text.join("\n").matchAll(/uses: (?!\.\/)(.+)/g));
    expect(used.length).toBeGreaterThan(5);
    for (const [, action] of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  });
});
