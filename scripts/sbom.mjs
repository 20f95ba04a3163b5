// Makes the software bill of materials of each package of a release, in CycloneDX's JSON. It has no time and no serial
// number, so the same sources give the same bytes.
import { readFileSync } from "node:fs";
import { linked } from "./linked.mjs";
import { root } from "./setup.mjs";

/** The name of the file in a package. */
export const SBOM = "sbom.cdx.json";

/** Returns the package URL of an npm package or a crate. */
function purl(kind, name, version) {
  const at = version === undefined ? "" : `@${encodeURIComponent(version)}`;
  return `pkg:${kind}/${name.replace("@", "%40")}${at}`;
}

/** Returns a component. Some crates separate their licences with a slash, an old form of Cargo. */
function component(kind, { name, version, license, hash, url, scope }) {
  const at = purl(kind, name, version);
  return {
    type: "library",
    "bom-ref": at,
    name,
    ...(version !== undefined && { version }),
    ...(scope !== undefined && { scope }),
    ...(hash !== undefined && { hashes: [hash] }),
    licenses: [{ expression: license.replaceAll("/", " OR ") }],
    // The crates of this repository are not published.
    ...((kind !== "cargo" || hash !== undefined) && { purl: at }),
    ...(url !== undefined && { externalReferences: [{ type: "website", url }] }),
  };
}

/** Returns the dependencies of a component. */
const edge = (ref, dependsOn) => ({ ref, ...(dependsOn.length > 0 && { dependsOn: dependsOn.toSorted() }) });

/** Returns the text of a bill. `contents` are pairs of a component and the references of its dependencies. */
function bill({ name, version, license }, uses, contents) {
  const main = component("npm", { name, version, license });
  const sorted = contents.toSorted(([a], [b]) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  const content = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: main },
    components: sorted.map(([each]) => each),
    dependencies: [edge(main["bom-ref"], uses), ...sorted.map(([each, refs]) => edge(each["bom-ref"], refs))],
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Returns the bill of the package with the addon for a platform: the crates, and the C code in them. */
export function addonBill(manifest, platform) {
  const crates = linked([platform]);
  const addon = crates.find(({ name, source }) => name === "forkpoint" && source === null);
  const refs = new Map(crates.map(({ name, version }) => [`${name} ${version}`, purl("cargo", name, version)]));
  const contents = [];
  for (const { name, version, license, checksum, code, uses } of crates) {
    const hash = checksum && { alg: "SHA-256", content: checksum };
    const used = uses.map((each) => refs.get(each));
    if (code !== undefined) {
      const inside = component("generic", code);
      contents.push([inside, []]);
      used.push(inside["bom-ref"]);
    }
    contents.push([component("cargo", { name, version, license, hash }), used]);
  }
  return bill(manifest, [refs.get(`${addon.name} ${addon.version}`)], contents);
}

/** Returns the npm packages in the tools' bundles. The build writes their licences, each after its name. */
function bundledPackages() {
  const locked = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8")).packages;
  const found = new Map();
  for (const tool of ["cli", "studio"]) {
    for (const text of readFileSync(`${root}dist/${tool}/LICENSES.txt`, "utf8").split(`\n${"-".repeat(80)}\n\n`)) {
      const [, name, version, license] = /^(\S+) (\S+): (.+)/.exec(text);
      const [, entry] = Object.entries(locked).find(
        ([path, { version: has }]) => path.endsWith(`node_modules/${name}`) && has === version,
      );
      const hash = {
        alg: "SHA-512",
        content: Buffer.from(entry.integrity.replace("sha512-", ""), "base64").toString("hex"),
      };
      found.set(`${name} ${version}`, component("npm", { name, version, license, hash }));
    }
  }
  return [...found.values()];
}

/** Returns the bill of the package `forkpoint`: bundled packages, and the addons, which have their own bills. */
export function mainBill(manifest) {
  const addons = Object.entries(manifest.optionalDependencies).map(([name, version]) =>
    component("npm", { name, version, license: manifest.license, scope: "optional" }),
  );
  const contents = [...bundledPackages(), ...addons];
  return bill(
    manifest,
    contents.map((each) => each["bom-ref"]),
    contents.map((each) => [each, []]),
  );
}

/** Returns the bill of a package without other components. */
export const emptyBill = (manifest) => bill(manifest, [], []);
