// The tools show the streams, tasks and queues: the inspector, the command line, the studio's data, copies and retention.
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointEventStore, ForkpointTaskMessageQueue, ForkpointTaskStore } from "forkpoint/mcp";
import { describe, expect, it } from "vitest";
import { cli } from "../cli/run.js";
import { closing, failure, folder, kinds, place } from "../helpers.js";
import { eventsAt, fill, progress, queueAt, replay, shared, tasksAt } from "./helpers.js";

const request = { method: "tools/call", params: { name: "report" } };

/** Fills a database with two sessions. */
async function filled(target: any) {
  const [ada, bob] = [eventsAt(target, "ada"), eventsAt(target, "bob")];
  const [first] = await fill(ada, "_GET_stream", 0, 2);
  await fill(ada, "a-post", 0, 1);
  await fill(bob, "_GET_stream", 0, 1);
  const tasks = tasksAt(target);
  const { taskId } = await tasks.createTask({ ttl: null }, 1, request, "ada");
  await tasks.createTask({}, 2, request, "bob");
  await queueAt(target).enqueue(taskId, { type: "notification", text: "waiting" });
  return { ada, bob, tasks, taskId, first: first! };
}

describe.each(kinds)("on %s", (kind) => {
  it("the inspector shows sessions, streams, tasks and queues", async () => {
    const target = await shared(kind);
    const { taskId } = await filled(target);
    const inspector = closing(await openInspector(target as string));
    const runs = (await inspector.runs({ space: "mcp" })).items.map(({ run, ns }) => [run, ns]);
    expect(runs.toSorted()).toEqual([
      ["ada", "_GET_stream"],
      ["ada", "a-post"],
      ["bob", "_GET_stream"],
    ]);
    const [block] = (await inspector.checkpoints({ space: "mcp", run: "ada", ns: "_GET_stream" })).items;
    expect(block).toMatchObject({ label: "2 entries" });
    const { state } = (await inspector.checkpoint({ space: "mcp", run: "ada", ns: "_GET_stream", id: block!.id }))!;
    expect(JSON.stringify(state)).toContain(JSON.stringify(progress(1)));

    const [task] = (await inspector.checkpoints({ space: "mcp-tasks", run: "ada" })).items;
    expect(task).toMatchObject({ id: taskId, label: "working" });
    const shown = (await inspector.checkpoint({ space: "mcp-tasks", run: "ada", id: taskId }))!;
    expect(JSON.stringify(shown.state)).toContain('"name":"report"');
    const queues = (await inspector.runs({ space: "mcp-queues" })).items;
    expect(queues).toEqual([expect.objectContaining({ run: taskId })]);
    const found: unknown[] = [];
    for await (const hit of inspector.search("waiting")) found.push(hit);
    expect(JSON.stringify(found)).toContain(taskId);
  });

  it("the inspector removes a session, and leaves the others", async () => {
    const target = await shared(kind);
    const { ada, bob, tasks, taskId, first } = await filled(target);
    const inspector = closing(await openInspector(target as string, { write: true }));
    for (const ns of ["_GET_stream", "a-post"]) await inspector.remove({ space: "mcp", run: "ada", ns });
    await inspector.remove({ space: "mcp-tasks", run: "ada" });
    expect(await ada.getStreamIdForEventId(first)).toBeUndefined();
    expect(await tasks.getTask(taskId)).toBeNull();
    expect((await tasks.listTasks()).tasks).toHaveLength(1);
    const [again] = await fill(bob, "_GET_stream", 5, 6);
    expect(await bob.getStreamIdForEventId(again!)).toBe("_GET_stream");
  });

  it("a copy has all of it, under the same ids", async () => {
    const from = closing(await openStore(place(kind)));
    const { taskId, first } = await filled(from);
    const path = `${folder()}/copy.db`;
    await copyStore(from, path);
    expect((await replay(eventsAt(path, "ada"), first)).numbers).toEqual([1]);
    expect(await tasksAt(path).getTaskRequest(taskId)).toEqual({ requestId: 1, request });
    expect(await queueAt(path).dequeueAll(taskId)).toEqual([{ type: "notification", text: "waiting" }]);
  });

  it("limits of the store for runs remove no task and no event", async () => {
    const store = closing(await openStore(place(kind), { keepLastN: 1 }));
    const events = new ForkpointEventStore(store, { sessionId: "s" });
    const ids = await fill(events, "stream", 0, 150);
    const tasks = new ForkpointTaskStore(store);
    for (let n = 0; n < 3; n++) await tasks.createTask({}, n, request, "s");
    const queue = new ForkpointTaskMessageQueue(store);
    for (let n = 0; n < 3; n++) await queue.enqueue("t", { n });
    await store.prune({ keepLastN: 1, olderThan: null });
    expect((await replay(events, ids[0]!)).numbers).toHaveLength(149);
    expect((await tasks.listTasks()).tasks).toHaveLength(3);
    expect(await queue.dequeueAll("t")).toHaveLength(3);
    // The age of a task is no reason to remove it: it has a time to live of its own.
    await store.prune({ olderThan: Date.now() + 1_000 });
    expect((await tasks.listTasks()).tasks).toHaveLength(3);
    expect((await replay(events, ids[0]!)).stream).toBe("");
  });

  it("a lease of a session keeps others from removing it", async () => {
    const target = await shared(kind);
    const { ada, tasks } = await filled(target);
    await using lease = await tasks.lease({ space: "mcp-tasks", run: "ada" });
    await failure(tasks.deleteSession("ada"), "CONFLICT");
    expect((await tasks.listTasks(undefined, "ada")).tasks).toHaveLength(1);
    const mine = tasks.withLease(lease);
    await mine.createTask({}, 3, request, "ada");
    expect((await mine.listTasks(undefined, "ada")).tasks).toHaveLength(2);
    await tasks.deleteSession("ada", { force: true });
    expect((await tasks.listTasks(undefined, "ada")).tasks).toEqual([]);
    await ada.deleteSession();
  });
});

it("the command line lists, shows and removes them", async () => {
  const target = place("sqlite");
  if (!target.endsWith(".db")) return;
  const { ada, bob, tasks, taskId } = await filled(target);
  for (const store of [ada, bob, tasks]) await store.close();
  const { stdout } = await cli(["ls", "--db", target]);
  for (const text of ["ada", "bob", "_GET_stream", "mcp-tasks", "mcp-queues"]) expect(stdout).toContain(text);
  const shown = await cli(["get", "ada", taskId, "--space", "mcp-tasks", "--db", target]);
  expect(shown.stderr).toBe("");
  expect(shown.stdout).toContain("report");
  await cli(["rm", "ada", "--space", "mcp-tasks", "--db", target, "--yes"]);
  expect(await tasksAt(target).getTask(taskId)).toBeNull();
});
