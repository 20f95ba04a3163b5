// Tests what the command line shows of the effects of a run, and how it settles one that may have happened.
// @module-tag slow
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import type { CheckpointInfo, EffectInfo } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, rejection, run as runProgram } from "../helpers.js";
import { placedEffects } from "../../tools/cli/effect-signs.js";
import { answer, bytesOf, cli, copies, json, refused, start, withRun } from "./run.js";

const run = { space: "agentos", run: "order-7" };

/** A run with two checkpoints. Between them, it has charged; a mail has failed; and a process was killed in a shipment. */
const shop = copies(async (path) => {
  {
    await using store = await openStore(path);
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    await once(run, "quote", () => null);
    for (let n = 0; n < 2; n++) {
      await graphs.save(checkpoint({ id: `order ${n}`, runId: "order-7", timestamp: n, nodeId: `node-${n}` }));
      if (n > 0) continue;
      await once(run, "charge \u001b[31m", () => ({ receipt: "r-1", at: new Date(0) }));
      await rejection(once(run, "mail", () => Promise.reject(new Error("no route"))));
    }
  }
  expect((await runProgram("effect.mjs", [path, "agentos", "order-7", "ship"])).signal).toBe("SIGKILL");
});

describe("looking", () => {
  test("effects lists them with their state in words, and changes nothing", async () => {
    const path = await shop();
    const before = bytesOf(path);
    const { effects: all } = await json(["effects", "order-7", "--db", path]);
    expect(all.map(({ key, state }: { key: string; state: string }) => [key, state])).toEqual([
      ["quote", "done"],
      ["charge \u001b[31m", "done"],
      ["mail", "failed"],
      ["ship", "unknown"],
    ]);
    expect(all[1]).toMatchObject({ ...run, ns: null, branch: 0, attempts: 1, checkpointId: "order 0" });
    const shown = await answer(["effects", "order", "--db", path]);
    expect(shown).toMatch(/^STATE +EFFECT +ATTEMPTS /);
    expect(shown).toMatch(/^✓ done +charge \\u001b\[31m +1 /m);
    expect(shown).toMatch(/^✗ failed +mail .* no route$/m);
    expect(shown).toMatch(/^! may have happened +ship +1 /m);
    expect(bytesOf(path)).toBe(before);
  });

  test("show has them in the timeline of the run", async () => {
    const path = await shop();
    const { effects: all } = await json(["show", "order-7", "--db", path]);
    expect(all).toHaveLength(4);
    const rows = (text: string) => text.split("\n").filter((line) => /order \d|done|failed|happened/.test(line));
    const table = rows(await answer(["show", "order-7", "--db", path])).map((line) => line.trim().split(/ {2,}/));
    expect(
      table.map(([first, second, third]) =>
        second === "node-0" || second === "node-1" ? [first, second, third] : [first, second],
      ),
    ).toEqual([
      ["✓ done", "quote"],
      ["0", "node-0", "order 0"],
      ["✓ done", "charge \\u001b[31m"],
      ["✗ failed", "mail"],
      ["1", "node-1", "order 1"],
      ["! may have happened", "ship"],
    ]);
    const tree = rows(await answer(["show", "order-7", "--tree", "--db", path]));
    const names = tree.map((line) => /ship|order \d|mail|charge|quote/.exec(line)?.[0]);
    expect(names).toEqual(["ship", "order 1", "mail", "charge", "order 0", "quote"]);
    expect(tree[2]).toMatch(/^\| {4}✗ failed {2}mail/);
    const last = await answer(["show", "order-7", "--last", "1", "--db", path]);
    expect(rows(last).map((line) => /order \d|ship|mail|charge|quote/.exec(line)?.[0])).toEqual(["order 1", "ship"]);
  });

  test("an effect whose checkpoint is left out is before the one that was saved in its millisecond", () => {
    const [later, latest] = [
      { id: "order 1", savedAt: 7 },
      { id: "order 2", savedAt: 9 },
    ] as CheckpointInfo[];
    const effectsAt = [6, 7, 8, 9].map((startedAt) => ({ checkpointId: "order 0", startedAt })) as EffectInfo[];
    const own = { checkpointId: "order 2", startedAt: 9 } as EffectInfo;
    const given = [...effectsAt, own];
    expect(placedEffects([later!, latest!], given, true)).toEqual(
      new Map([
        [later, effectsAt.slice(2)],
        [latest, [own]],
      ]),
    );
    expect(placedEffects([later!, latest!], given, false).get(null)).toEqual(effectsAt.slice(0, 2));
  });

  test("get prints a result, or the value at a path of it", async () => {
    const path = await shop();
    const get = (...args: string[]) => ["get", "order-7", "--effect", ...args, "--db", path];
    const detail = await json(get("charge \u001b[31m"));
    expect(detail).toMatchObject({ effect: { state: "done" }, result: { receipt: "r-1" }, part: { readable: true } });
    expect(await answer(get("charge \u001b[31m", "-p", "receipt", "-r"))).toBe("r-1\n");
    expect(await answer(get("charge \u001b[31m"))).toContain('"receipt": "r-1"');
    expect(await answer(get("mail"))).toContain("no route");
    expect(await json(get("mail"))).toMatchObject({ result: null, part: null });
    expect((await refused(get("mail", "-r"), 2)).code).toBe("USAGE");
    expect((await refused(get("mail", "--path", "a"), 3)).message).toContain("it has no result");
    expect((await refused(get("charge \u001b[31m", "--path", "a"), 3)).message).toContain('nothing at "a"');
    expect((await refused(get("nothing"), 3)).message).toContain('it has "quote", "charge');
    expect((await refused(get("mail", "--step", "0"), 2)).code).toBe("USAGE");
    expect((await refused(["effects", "nothing", "--db", path], 3)).code).toBe("NOT_FOUND");
  });

  test("a run that has saved nothing yet is found by its id, and one without effects says that", async () => {
    const path = await withRun("plain", 1);
    expect(await json(["effects", "plain", "--db", path])).toEqual({ effects: [] });
    expect((await cli(["effects", "plain", "--db", path])).stderr).toContain("the run has no effects");
    {
      await using store = await openStore(path);
      await effects(store)({ space: "agentium", run: "early" }, "charge", () => 1);
    }
    expect(await json(["effects", "early", "--db", path])).toMatchObject({
      effects: [{ space: "agentium", run: "early" }],
    });
    expect((await json(["ls", "--db", path])).runs).toMatchObject([{ run: "plain" }]);
    expect(await answer(["get", "early", "--effect", "charge", "-r", "--db", path])).toBe("1\n");
  });

  test("tail prints them as they happen", async () => {
    const path = await withRun("order-7", 1);
    const tail = start(["tail", "--db", path, "--json"]);
    await tail.lines(1);
    {
      await using store = await openStore(path);
      await effects(store)(run, "charge", () => 1);
    }
    const lines = await tail.lines(2);
    const seen = lines.slice(1).map((line) => JSON.parse(line) as { type: string; effect: object });
    expect(seen.at(-1)).toMatchObject({ type: "effect", effect: { ...run, key: "charge" } });
    expect(lines.join()).not.toContain('"changed"');
    tail.child.kill("SIGINT");
    await tail.ended;
  });
});

describe("settle", () => {
  const settle = (path: string, ...args: string[]) => ["settle", "order-7", ...args, "--db", path];

  test("asks first: without --yes nothing is done", async () => {
    const path = await shop();
    const before = bytesOf(path);
    expect((await refused(settle(path, "ship", "--forget"), 4)).code).toBe("NOT_CONFIRMED");
    expect(await json(settle(path, "ship", "--result", "1", "--dry-run"))).toMatchObject({
      dryRun: true,
      forget: false,
    });
    expect((await refused(settle(path, "ship"), 2)).code).toBe("USAGE");
    expect((await refused(settle(path, "ship", "--forget", "--result", "1"), 2)).code).toBe("USAGE");
    expect((await refused(settle(path, "ship", "--result", "bob", "-y"), 2)).message).toContain("--result");
    expect((await refused(settle(path, "other", "--forget", "-y"), 3)).code).toBe("NOT_FOUND");
    expect((await refused(settle(path, "quote", "--result", "1", "-y"), 5)).message).toContain("already has a result");
    expect(bytesOf(path)).toBe(before);
  });

  test("stores a result from the arguments, a file or stdin, which the program gets", async () => {
    const path = await shop();
    const file = join(folder(), "result.json");
    writeFileSync(file, '{"parcel":{"$type":"Date","value":"1970-01-01T00:00:00.000Z"}}');
    expect(await answer(settle(path, "ship", "--result", `@${file}`, "-y"))).toBe(
      '✓ stored the result of the effect "ship" of run "order-7"\n',
    );
    const made = await json(settle(path, "mail", "--result", "-", "-y"), { input: '"sent"' });
    expect(made).toEqual({ dryRun: false, effect: { ...run, ns: null, key: "mail", branch: 0 }, forget: false });
    await using store = await openStore(path);
    expect(await effects(store)(run, "ship", () => "again")).toEqual({ parcel: new Date(0) });
    expect(await effects(store)(run, "mail", () => "again")).toBe("sent");
  });

  test("forgets an effect, and the program runs it again", async () => {
    const path = await shop();
    expect(await answer(settle(path, "ship", "--forget", "-y"))).toContain("✓ forgotten");
    const { effects: all } = await json(["effects", "order-7", "--db", path]);
    expect(all).toHaveLength(3);
    await using store = await openStore(path);
    expect(await effects(store)(run, "ship", () => "again")).toBe("again");
  });
});

test("rm and copy tell of effects", async () => {
  const path = await shop();
  const to = join(folder(), "copy.db");
  expect(await answer(["copy", "order-7", "--to", to, "--db", path])).toContain(
    "1 run with 2 checkpoints, 4 effects and 0 writes",
  );
  rmSync(to);
  expect(await json(["copy", "--to", to, "--db", path])).toMatchObject({ runs: 1, checkpoints: 2, effects: 4 });
  expect(await answer(["rm", "order-7", "--dry-run", "--db", path])).toContain("with 2 checkpoints and 4 effects");
  await answer(["rm", "order-7", "-y", "--db", path]);
  expect((await refused(["effects", "order-7", "--db", path], 3)).code).toBe("NOT_FOUND");
  expect((await json(["stats", "--db", to])).effects).toBe(4);
});
