import type { TestProject } from "vitest/node";
// @ts-expect-error The module is JavaScript, so that a script can use it too.
import { copyPackage } from "./copy-package.mjs";

/** Installs the built package beside the framework of the project. */
export default function setup({ config }: TestProject): void {
  copyPackage(config.root);
}
