// Stops runs through the studio's route. The holder is another process.
import { describe, expect, test } from "vitest";
import { opened } from "../contents.js";
import { Worker } from "../exclusive-worker.js";
import { place, sharedKinds } from "../helpers.js";
import { errorOf, start } from "./helpers.js";

describe.each(sharedKinds)("%s", (kind) => {
  const working = async (given: object = {}, options?: { write: boolean }) => {
    const target = place(kind);
    const worker = new Worker(target);
    await worker.works("a", "run", given);
    return { worker, studio: await start(await opened(target), options) };
  };
  const run = { space: "agentos", run: "run", ns: null };

  test("a run in another process stops, and the page's answers have the author", async () => {
    const { worker, studio } = await working();
    const { run: before } = await studio.get("run", { space: "agentos", run: "run" });
    expect(before).toMatchObject({ status: "unfinished", stopped: null, lease: { until: expect.any(Number) } });
    const answer = await studio.post("stop", { ...run, by: "Ana", reason: "wrong customer" });
    const holder = expect.stringContaining(`process ${worker.program.pid} on `);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { ...run, outcome: "stopped", holder }]);
    expect(await worker.says("a")).toMatchObject({ code: "STOPPED", stopped: { by: "Ana" } });
    const stopped = { by: "Ana", reason: "wrong customer", at: expect.any(Number) };
    const { run: after } = await studio.get("run", { space: "agentos", run: "run" });
    expect(after).toMatchObject({ status: "stopped", stopped, lease: null, statusWhy: "by Ana: wrong customer" });
    expect((await studio.get("runs", { status: "stopped" })).runs).toMatchObject([{ run: "run", stopped }]);
    expect((await studio.get("runs", { status: "unfinished" })).runs).toEqual([]);
    const { spaces } = await studio.get("info");
    expect(spaces).toMatchObject([{ space: "agentos", statuses: { unfinished: 0, stopped: 1 } }]);
    const again = await studio.post("stop", { ...run, by: "Bob" });
    expect(JSON.parse(again.text)).toEqual({ ...run, outcome: "not running", holder: null });
  });

  test("a process that does not listen is named", async () => {
    const { worker, studio } = await working({ ignores: true });
    const answer = await studio.post("stop", { ...run, waitMs: 200 });
    expect(JSON.parse(answer.text)).toMatchObject({ outcome: "no answer" });
    worker.tell("open", { of: "a" });
    await worker.says("a");
    expect((await studio.get("run", { space: "agentos", run: "run" })).run).toMatchObject({ status: "stopped" });
  });

  test("a wrong request, a studio without --write and one without a token stop nothing", async () => {
    const { worker, studio } = await working({}, { write: false });
    expect(errorOf(await studio.post("stop", run))).toMatchObject({ status: 403, code: "READ_ONLY" });
    const writing = await start(studio.store);
    const headers = { "content-type": "application/json", authorization: "Bearer wrong" };
    const refused = await writing.ask("stop", { method: "POST", headers, body: JSON.stringify(run) });
    expect(errorOf(refused)).toMatchObject({ status: 403, code: "FORBIDDEN" });
    for (const [fields, status] of [
      [{ ...run, run: "nobody" }, 404],
      [{ ...run, space: "nothing" }, 400],
      [{ ...run, by: "" }, 400],
      [{ ...run, reason: 7 }, 400],
      [{ ...run, waitMs: -1 }, 400],
      [{ ...run, signal: {} }, 400],
      [{ ...run, force: true }, 400],
      [{}, 400],
    ] as const)
      expect((await writing.post("stop", fields)).status, JSON.stringify(fields)).toBe(status);
    expect((await writing.get("run", { space: "agentos", run: "run" })).run).toMatchObject({ status: "unfinished" });
    worker.tell("open", { of: "a" });
    expect(await worker.says("a")).toMatchObject({ log: ["a begins", "a ends"] });
    expect((await writing.get("run", { space: "agentos", run: "run" })).run).toMatchObject({ status: "unfinished" });
  });
});
