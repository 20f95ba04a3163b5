/**
 * Packs the package in its two forms and installs each form in an empty folder. The folders are inside this one, so that
 * a program in them also finds the tools and LangGraph, as in a project that has installed them.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { install, packRelease, packWithAddon } from "../../__test__/packages.js";

/** A form of the package. */
export type Form = "the addon inside" | "the addon beside";

export interface Installed {
  tarballs: string[];
  project: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    installed: Record<Form, Installed>;
  }
}

export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(fileURLToPath(new URL(".projects-", import.meta.url)));
  const installed = (name: string, packed: (to: string) => string[]): Installed => {
    const [to, project] = [join(folder, `${name}-packed`), join(folder, name)];
    mkdirSync(to);
    mkdirSync(project);
    const tarballs = packed(to);
    install(project, tarballs);
    // Without this file, some tools would use a configuration of the repository.
    writeFileSync(join(project, "tsconfig.json"), "{}");
    return { tarballs, project };
  };
  provide("installed", {
    "the addon inside": installed("inside", packWithAddon),
    "the addon beside": installed("beside", packRelease),
  });
  return () => rmSync(folder, { recursive: true, force: true });
}
