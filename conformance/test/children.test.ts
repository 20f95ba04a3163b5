// Other processes: what they say, and how they end.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { start } from "../dist/suite/children.js";
import { folder } from "./stores.js";

/** Starts a program of a small suite. */
function child(program: string, input?: unknown, open = "open") {
  const at = folder();
  const suite = join(at, "suite.mjs");
  writeFileSync(
    suite,
    `const programs = {
      echo: async ({ store, input, say, told }) => { await say([store, input]); return [await told(), await told()]; },
      fail: async () => { throw new RangeError("no luck"); },
      exit: async ({ say }) => { await say(1); console.error("going"); process.exit(3); },
      forever: async ({ say }) => { for (let n = 0; ; n++) await say(n); },
      busy: async ({ say }) => { await say("busy"); for (;;); },
    };
    export default { definition: { programs } };`,
  );
  const module = join(at, "store.mjs");
  writeFileSync(module, `export const ${open} = ({ target }) => "opened " + target;`);
  const [suiteUrl, moduleUrl] = [suite, module].map((path) => pathToFileURL(path).href);
  return start({ suite: suiteUrl!, module: moduleUrl!, target: "here", program, input });
}

it("talks in both directions", async () => {
  const echo = child("echo", new Map([[1, new Date(7)]]));
  expect(await echo.next()).toEqual(["opened here", new Map([[1, new Date(7)]])]);
  echo.tell("one");
  echo.tell({ two: 2 });
  expect(await echo.result()).toEqual(["one", { two: 2 }]);
  await expect(echo.next()).rejects.toThrow(/has ended/);
  expect(await echo.kill()).toHaveLength(1);
});

it("tells why a program has failed", async () => {
  const failed = child("fail");
  await expect(failed.result()).rejects.toThrow(/fail failed in another process: RangeError: no luck/);
  await expect(failed.next()).rejects.toThrow(/no luck/);
  const closed = child("echo", null, "shut");
  await expect(closed.result()).rejects.toThrow(/open is not a function/);
  const exited = child("exit");
  expect(await exited.next()).toBe(1);
  await expect(exited.result()).rejects.toThrow(/the process of exit has ended \(3\): going/);
});

it("kills a process at once, and keeps what it has said", async () => {
  const endless = child("forever");
  expect([await endless.next(), await endless.next()]).toEqual([0, 1]);
  const said = await endless.kill();
  expect(said).toEqual(said.map((_, n) => n));
  expect(said.length).toBeGreaterThanOrEqual(2);
  const busy = child("busy");
  expect(await busy.next()).toBe("busy");
  expect(await busy.kill()).toEqual(["busy"]);
  await expect(busy.result()).rejects.toThrow(/SIGKILL/);
});
