// LangGraph has one copy for `import` and one for `require`. A program that loads the saver with `require` must get
// objects whose classes come from the copy for `require`.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("a program in CommonJS reads back instances of its own classes", () => {
  const script = fileURLToPath(new URL("fixtures/commonjs.cjs", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    encoding: "utf8",
    // Clear the test runner's NODE_OPTIONS for the child.
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({ saver: true, messages: true, log: [1, "edited", 2, "edited", 3, "edited"] });
});
