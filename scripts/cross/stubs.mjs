// What linkers ask for and no package has: an import library for Windows, and stubs of macOS's frameworks. Both only
// name symbols that Node.js or macOS has when the addon is loaded.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linked } from "../linked.mjs";

/** The frameworks that crates link, and how the names of their functions and constants begin. */
const frameworks = {
  CoreFoundation: /^_*k?CF[A-Z]/,
  Security: /^(k?Sec|SSL|Authorization|kAuthorization|k?CS|cssm|errSec)[A-Z]?/,
  SystemConfiguration: /^k?SC[A-Z]/,
};

/** Returns all names that Rust sources declare as functions or statics of other libraries, or could. */
function declared(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".rs"));
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const found = text.matchAll(/\b(?:fn|static|static mut) (\w+)\s*[:<(]|\blink_name\s*=\s*"(\w+)"/g);
    return Array.from(found, ([, name, linkName]) => name ?? linkName);
  });
}

/** Writes an SDK with stubs of the frameworks that the addon's crates use on `platform`, and returns its folder. */
export function frameworkStubs(platform, folder) {
  const crates = linked([platform]).filter(({ name }) =>
    /core-foundation|security-framework|system-configuration/.test(name),
  );
  const names = [...new Set(crates.flatMap((crate) => declared(join(crate.folder, "src"))))].toSorted();
  rmSync(folder, { recursive: true, force: true });
  for (const [framework, pattern] of Object.entries(frameworks)) {
    const symbols = names.filter((name) => pattern.test(name));
    if (symbols.length === 0) throw new Error(`no crate of ${platform} declares anything of ${framework}`);
    const place = `System/Library/Frameworks/${framework}.framework`;
    const targets = "[ x86_64-macos, arm64-macos ]";
    mkdirSync(join(folder, place), { recursive: true });
    writeFileSync(
      join(folder, place, `${framework}.tbd`),
      [
        "--- !tapi-tbd",
        "tbd-version: 4",
        `targets: ${targets}`,
        `install-name: '/${place}/Versions/A/${framework}'`,
        "exports:",
        `  - targets: ${targets}`,
        `    symbols: [ ${symbols.map((name) => `_${name}`).join(", ")} ]`,
        "...\n",
      ].join("\n"),
    );
  }
  return folder;
}

/**
 * Writes an import library for `libnode.dll`, and returns its folder. With targets of GNU's kind, napi-build links it, although
 * the addon takes no symbol from it: it looks up Node's functions when it is loaded.
 */
export function libnode(machine, zig, folder) {
  mkdirSync(folder, { recursive: true });
  const names = join(folder, "node.def");
  writeFileSync(names, "LIBRARY node.exe\nEXPORTS\nnapi_create_object\n");
  const library = join(folder, "libnode.dll.a");
  execFileSync(zig, ["dlltool", "-d", names, "-l", library, "-m", machine], { stdio: "inherit" });
  // napi-build looks for the first name, and zig for the second.
  for (const name of ["libnode.dll", "libnode.a"]) cpSync(library, join(folder, name));
  // zig has the functions of these two in its own libraries, but a crate names them.
  for (const name of ["libssp.a", "libssp_nonshared.a"]) writeFileSync(join(folder, name), "!<arch>\n");
  return folder;
}
