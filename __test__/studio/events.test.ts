// Tests the stream of events: what is saved by this and by another process, from where it goes on, and how it ends.
import { request as httpRequest } from "node:http";
import { CheckpointStore } from "forkpoint";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { opened } from "../contents.js";
import { type Running, errorOf, saveRun, start } from "./helpers.js";

/** Waits until a check passes, also on a busy machine. */
const soon = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 20_000 });

interface Heard {
  id?: string;
  event?: string;
  data?: any;
}

/** Reads the stream of events in the background. */
async function hear({ port, bearer }: Running, query = "", headers: Record<string, string> = {}) {
  const heard: Heard[] = [];
  const comments: string[] = [];
  let ended = false;
  let text = "";
  let begin = () => {};
  let failed: (error: Error) => void = () => {};
  const opening = new Promise<void>((resolve, reject) => {
    begin = resolve;
    failed = reject;
  });
  const own = { host: `127.0.0.1:${port}`, ...bearer, ...headers };
  const request = httpRequest({ host: "127.0.0.1", port, path: `/api/v1/events${query}`, headers: own }, (response) => {
    expect(response.headers["content-type"]).toBe("text/event-stream");
    expect(response.headers["cache-control"]).toBe("no-store");
    response.setEncoding("utf8");
    response.on("data", (piece: string) => {
      begin();
      text += piece;
      const blocks = text.split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        if (block.startsWith(":")) comments.push(block);
        else {
          const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
          heard.push({ ...fields, ...(fields.data !== undefined && { data: JSON.parse(fields.data) }) });
        }
      }
    });
    response.on("close", () => (ended = true));
    response.on("error", () => {});
  });
  request.on("error", failed);
  request.end();
  onTestFinished(() => void request.destroy());
  await opening;
  return { heard, comments, request, ended: () => ended };
}

const idsOf = (heard: Heard[]) => heard.flatMap(({ data }) => (data.checkpoint ? [data.checkpoint.id] : []));

describe("events", () => {
  test("tell what is saved, with the seq as id, as a watch tells it", async () => {
    const running = await start(await opened("memory:"));
    await saveRun(running.store, "before", [1]);
    const { heard } = await hear(running);
    // The first look of a watch finds where it begins.
    await soon(async () => {
      await saveRun(running.store, "probe", [1]);
      expect(heard.length).toBeGreaterThan(0);
    });
    const ids = await saveRun(running.store, "run", [1, 2]);
    await soon(() => expect(idsOf(heard)).toEqual(expect.arrayContaining(ids)));
    expect(idsOf(heard)).not.toContain("before-0");
    const last = heard.at(-1)!;
    const info = (await running.inspector.checkpoints({ space: "agentos", run: "run" })).items.at(-1)!;
    expect(last).toEqual({
      id: String(info.seq),
      event: "saved",
      data: { type: "saved", seq: info.seq, checkpoint: info },
    });
  });

  test("go on from a seq, by parameter or by Last-Event-ID, without a gap and without repeating", async () => {
    const running = await start(await opened("memory:"));
    const ids = await saveRun(running.store, "run", [1, 2, 3, 4, 5]);
    const { items } = await running.inspector.checkpoints({ space: "agentos", run: "run" });
    const { seq } = items[1]!;
    const [byParameter, byHeader, both] = [
      await hear(running, `?since=${seq}`),
      await hear(running, "", { "last-event-id": String(seq) }),
      // A browser that connects again knows more than the address.
      await hear(running, "?since=0", { "last-event-id": String(seq) }),
    ];
    await soon(() => {
      for (const { heard } of [byParameter, byHeader, both]) expect(idsOf(heard)).toEqual(ids.slice(2));
    });
    const all = await hear(running, "?since=0");
    await soon(() => expect(idsOf(all.heard)).toEqual(ids));
  });

  test("refuse a wrong seq", async () => {
    const { ask } = await start();
    for (const since of ["x", "-1", "1.5", "1e3"]) {
      expect(errorOf(await ask(`events?since=${since}`)), since).toMatchObject({ status: 400 });
      const answer = await ask("events", { headers: { "last-event-id": since } });
      expect(errorOf(answer), since).toMatchObject({ status: 400 });
    }
  });

  test("of one space or run only", async () => {
    const running = await start(await opened("memory:"));
    await saveRun(running.store, "a", [1]);
    await saveRun(running.store, "b", [1]);
    const { heard } = await hear(running, "?since=0&run=b");
    await soon(() => expect(idsOf(heard)).toEqual(["b-0"]));
    const other = await hear(running, "?since=0&space=langgraph");
    await saveRun(running.store, "c", [1]);
    const all = await hear(running, "?since=0");
    await soon(() => expect(all.heard).toHaveLength(3));
    expect(other.heard).toEqual([]);
  });

  test("tell that something was removed", async () => {
    const running = await start(await opened("memory:"));
    const ids = await saveRun(running.store, "run", [1, 2]);
    const { heard } = await hear(running, "?since=0");
    await soon(() => expect(heard).toHaveLength(2));
    await new CheckpointStore(running.store).delete(ids[0]!);
    await soon(() => expect(heard.at(-1)).toEqual({ event: "changed", data: { type: "changed" } }));
  });

  test("end when the studio ends, and do not go on when the reader is gone", async () => {
    const running = await start(await opened("memory:"));
    const [one, two] = [await hear(running), await hear(running)];
    one.request.destroy();
    await soon(() => expect(one.ended()).toBe(true));
    await saveRun(running.store, "run", [1]);
    expect(two.ended()).toBe(false);
    await running.close();
    await soon(() => expect(two.ended()).toBe(true));
  });

  test("send a comment every 15 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const running = await start(await opened("memory:"));
    const { comments } = await hear(running);
    expect(comments).toEqual([": open"]);
    vi.advanceTimersByTime(15_000);
    await soon(() => expect(comments).toHaveLength(2));
    vi.advanceTimersByTime(30_000);
    await soon(() => expect(comments).toHaveLength(4));
  });
});
