// Reads what the addons in this checkout need from their systems: `npm run build -- --target <platform>` puts them here.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
// @ts-expect-error The module is JavaScript.
import { newestGlibc, readElf } from "../scripts/cross/elf.mjs";
// @ts-expect-error The module is JavaScript.
import { here } from "../scripts/platforms.mjs";

const linux = process.platform === "linux";

it.runIf(linux)("reads the libraries and versions of symbols that this machine's addon needs", () => {
  const platform = here() as string;
  const addon = readFileSync(fileURLToPath(new URL(`../forkpoint.${platform}.node`, import.meta.url)));
  const { needed, align } = readElf(addon) as { needed: string[]; align: number };
  expect(needed.some((name) => name.startsWith("libc.so"))).toBe(true);
  expect(align).toBeGreaterThanOrEqual(4096);
  const glibc = newestGlibc(addon) as number[] | undefined;
  // The version says which C library it is: only glibc has versions of symbols.
  if (platform.endsWith("musl")) expect(glibc).toBe(undefined);
  else expect(glibc?.[0]).toBe(2);
});
