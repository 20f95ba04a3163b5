// Runs all tests: `npm test`. Runs some tests: `npm test -- __test__/hostile.test.ts`. All arguments of vitest are
// allowed.
import { readdirSync } from "node:fs";
import { root, run, setup, tool } from "./setup.mjs";

const chosen = process.argv.slice(2);
const vitest = (...args) => tool("vitest/vitest.mjs", ["run", ...args]);

if (chosen.length > 0) {
  setup({ frameworks: chosen.some((argument) => argument.includes("integration")) });
  vitest(...chosen);
} else {
  setup();
  run(process.execPath, [`${root}scripts/check.mjs`]);
  run("cargo", ["test", "--locked"]);
  run("cargo", ["test", "--locked", "--no-default-features"]);
  vitest("--pool=forks");
  // The fault tests start processes and measure their own, so a pool of threads tells nothing new.
  const others = readdirSync(`${root}__test__`).filter((name) => name !== "faults");
  vitest("--pool=threads", ...others.map((name) => `__test__/${name}`));
}
