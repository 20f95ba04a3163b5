// Finds the Rust and C code in the addon.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { platforms } from "./platforms.mjs";
import { root } from "./setup.mjs";

/**
 * The C code in some crates: its name, its licence, its licence files, and the file and the pattern with its version.
 * fiat-crypto has no versions.
 */
const bundled = {
  "libmimalloc-sys": {
    name: "mimalloc",
    license: "MIT",
    url: "https://github.com/microsoft/mimalloc",
    texts: ["c_src/mimalloc/v2/LICENSE"],
    // For example 20302, which is 2.3.2.
    version: ["c_src/mimalloc/v2/include/mimalloc.h", /#define MI_MALLOC_VERSION (\d+)(\d\d)(\d\d)\b/],
  },
  "libsqlite3-sys": {
    name: "sqlite",
    license: "blessing",
    url: "https://sqlite.org",
    texts: [],
    version: ["sqlite3/sqlite3.c", /#define SQLITE_VERSION +"(\d+)\.(\d+)\.(\d+)"/],
  },
  ring: {
    name: "fiat-crypto",
    license: "MIT OR Apache-2.0 OR BSD-1-Clause",
    url: "https://github.com/mit-plv/fiat-crypto",
    texts: ["third_party/fiat/LICENSE"],
  },
  "zstd-sys": {
    name: "zstd",
    license: "BSD-3-Clause",
    url: "https://facebook.github.io/zstd",
    texts: ["zstd/LICENSE"],
    version: [
      "zstd/lib/zstd.h",
      /#define ZSTD_VERSION_MAJOR +(\d+)\s+#define ZSTD_VERSION_MINOR +(\d+)\s+#define ZSTD_VERSION_RELEASE +(\d+)/,
    ],
  },
};

/** Crates that only a development build of the addon contains. */
const forDevelopment = new Set(["ts-rs"]);

/** Returns the checksums of the locked crates, by name and version. */
function checksums() {
  const blocks = readFileSync(`${root}Cargo.lock`, "utf8").matchAll(
    /^name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"$/gm,
  );
  return new Map(Array.from(blocks, ([, name, version, checksum]) => [`${name} ${version}`, checksum]));
}

/** Returns the name of a crate with its version, because some crates are linked in two versions. */
const nameOf = ({ name, version }) => `${name} ${version}`;

/** Returns the C code of a crate, with its version, or undefined. */
function codeIn(name, folder) {
  if (bundled[name] === undefined) return undefined;
  const { version, ...code } = bundled[name];
  if (version === undefined) return code;
  const [file, pattern] = version;
  const found = pattern.exec(readFileSync(join(folder, file), "utf8"));
  if (found === null) throw new Error(`${name} has no version of ${code.name} in ${file}`);
  return { ...code, version: found.slice(1).map(Number).join(".") };
}

/**
 * Returns the crates in the addons of these platforms, sorted by name. Each has its folder, its checksum, its C code,
 * and the crates that it uses.
 */
export function linked(names = Object.keys(platforms)) {
  const options = { cwd: root, maxBuffer: 64 * 2 ** 20, encoding: "utf8" };
  const targets = names.flatMap((name) => ["--filter-platform", platforms[name].target]);
  const metadata = JSON.parse(
    execFileSync("cargo", ["metadata", "--quiet", "--format-version", "1", "--locked", ...targets], options),
  );
  const packages = new Map(metadata.packages.map((each) => [each.id, each]));
  const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
  const found = new Set();
  const used = (id) =>
    nodes
      .get(id)
      .deps.filter(({ dep_kinds: kinds }) => kinds.some(({ kind }) => kind === null))
      .map(({ pkg }) => pkg)
      .filter((pkg) => !forDevelopment.has(packages.get(pkg).name))
      // A procedural macro runs in the compiler.
      .filter((pkg) => !packages.get(pkg).targets.some(({ kind }) => kind.includes("proc-macro")));
  const visit = (id) => {
    if (found.has(id)) return;
    found.add(id);
    for (const pkg of used(id)) visit(pkg);
  };
  visit(metadata.packages.find(({ name, source }) => name === "forkpoint" && source === null).id);
  const locked = checksums();
  const crates = Array.from(found, (id) => {
    const { name, version, license, authors, source, manifest_path: manifest } = packages.get(id);
    const folder = dirname(manifest);
    const uses = used(id).map((pkg) => nameOf(packages.get(pkg)));
    const checksum = locked.get(`${name} ${version}`);
    return { name, version, license, authors, source, folder, checksum, code: codeIn(name, folder), uses };
  });
  for (const name of Object.keys(bundled)) {
    if (names.length > 1 && !crates.some((each) => each.name === name))
      throw new Error(`scripts/linked.mjs names ${name}, which is not linked`);
  }
  return crates.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
