// Runs all tests: `npm test`. Runs some tests: `npm test -- __test__/hostile.test.ts`. All arguments of vitest are
// allowed.
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
  vitest("--pool=threads", "__test__");
}
