// Tasks: their sessions, their ends, their lists and their expiry.
import { ForkpointTaskStore } from "forkpoint/mcp";
import { describe, expect, it, vi } from "vitest";
import { DAY, LONG_AGO, at } from "../at-time.js";
import { failure, kinds, pairOf, place, rejection, sharedKinds, together, thrown, wrongType } from "../helpers.js";
import { shared, tasksAt } from "./helpers.js";

const request = { method: "tools/call", params: { name: "report" } };
const result = { content: [{ type: "text", text: "done" }] };
const create = (store: ForkpointTaskStore, session?: string, more: object = {}) =>
  store.createTask(more, 1, request, session);

/** Lists all tasks, page by page. */
async function all(store: ForkpointTaskStore, session?: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.listTasks(cursor, session);
    found.push(...page.tasks.map(({ taskId }) => taskId));
    cursor = page.nextCursor;
    if (cursor === undefined) return found;
  }
}

const terminal = ["completed", "failed", "cancelled"] as const;

describe.each(kinds)("a task store on %s", (kind) => {
  it("creates a task, changes its status, and ends it with a result", async () => {
    const store = tasksAt(place(kind));
    const made = await at(LONG_AGO, () => store.createTask({ ttl: null, pollInterval: 50 }, "r", request, "s"));
    const createdAt = new Date(LONG_AGO).toISOString();
    const common = { taskId: made.taskId, ttl: null, createdAt, pollInterval: 50 };
    expect(made).toEqual({ ...common, status: "working", lastUpdatedAt: createdAt });
    expect(await store.getTask(made.taskId, "s")).toEqual(made);
    await at(LONG_AGO + 5, () => store.updateTaskStatus(made.taskId, "input_required", "Which one?", "s"));
    const lastUpdatedAt = new Date(LONG_AGO + 5).toISOString();
    const asking = { ...common, status: "input_required", statusMessage: "Which one?", lastUpdatedAt };
    expect(await store.getTask(made.taskId, "s")).toEqual(asking);
    expect((await failure(store.getTaskResult(made.taskId, "s"), "NOT_FOUND")).message).toContain("no result");
    await store.updateTaskStatus(made.taskId, "working", undefined, "s");
    await store.storeTaskResult(made.taskId, "completed", result, "s");
    expect(await store.getTask(made.taskId, "s")).toMatchObject({ status: "completed", statusMessage: "Which one?" });
    expect(await store.getTaskResult(made.taskId, "s")).toEqual(result);
  });

  it.each(terminal)("never changes a task that is %s", async (status) => {
    const store = tasksAt(place(kind));
    const { taskId } = await create(store);
    if (status === "cancelled") await store.updateTaskStatus(taskId, status);
    else await store.storeTaskResult(taskId, status, result);
    const before = await store.getTask(taskId);
    for (const other of [...terminal, "working", "input_required"] as const) {
      expect((await failure(store.updateTaskStatus(taskId, other), "INVALID_ARGUMENT")).message).toContain(status);
    }
    await failure(store.storeTaskResult(taskId, "completed", { other: true }), "INVALID_ARGUMENT");
    await failure(store.storeTaskResult(taskId, "failed", { other: true }), "INVALID_ARGUMENT");
    expect(await store.getTask(taskId)).toEqual(before);
    if (status === "cancelled") await failure(store.getTaskResult(taskId), "NOT_FOUND");
    else expect(await store.getTaskResult(taskId)).toEqual(result);
  });

  it("shows a session its own tasks, and those without a session", async () => {
    const store = tasksAt(place(kind), { pageSize: 2 });
    const { taskId: mine } = await create(store, "s");
    const { taskId: others } = await create(store, "s2");
    const { taskId: free } = await create(store);
    const { taskId: second } = await create(store, "s");
    expect(await all(store, "s")).toEqual([mine, free, second]);
    expect(await all(store, "s2")).toEqual([others, free]);
    expect(await all(store, "s3")).toEqual([free]);
    expect(await all(store)).toEqual([mine, others, free, second]);
    for (const session of ["s", "s2", "s3", undefined]) expect(await store.getTask(free, session)).not.toBeNull();
    expect(await store.getTask(others)).toMatchObject({ taskId: others });
    const unknown = [others, "no-such-task", "", "\ud800", "x".repeat(1_000_000)];
    for (const taskId of unknown) {
      expect(await store.getTask(taskId, "s")).toBeNull();
      const calls = [
        () => store.getTaskResult(taskId, "s"),
        () => store.getTaskRequest(taskId, "s"),
        () => store.storeTaskResult(taskId, "completed", result, "s"),
        () => store.updateTaskStatus(taskId, "cancelled", undefined, "s"),
      ];
      for (const call of calls)
        expect((await failure(call(), "NOT_FOUND")).message).toMatch(/^Task with ID .* not found$/s);
    }
    expect(await store.getTask(others, "s2")).toMatchObject({ status: "working" });
  });

  it("returns the arguments of a task to a process that continues it", async () => {
    const store = tasksAt(place(kind));
    const { taskId } = await store.createTask({ context: { job: 7 } }, "r-1", request, "s");
    expect(await store.getTaskRequest(taskId, "s")).toEqual({ requestId: "r-1", request, context: { job: 7 } });
    await store.storeTaskResult(taskId, "failed", result);
    expect(await store.getTaskRequest(taskId)).toEqual({ requestId: "r-1", request, context: { job: 7 } });
    expect(await store.getTaskRequest((await create(store)).taskId)).toEqual({ requestId: 1, request });
  });

  it("lists tasks in the order of their creation, even if the clock steps back", async () => {
    const store = tasksAt(place(kind), { pageSize: 2 });
    const made: string[] = [];
    for (const time of [DAY, DAY, 0, 5, DAY, 3, 0]) {
      made.push((await at(LONG_AGO + time, () => create(store, "s"))).taskId);
    }
    expect(await all(store, "s")).toEqual(made);
  });

  it("repeats and hides no task that stays, if others come and go between two pages", async () => {
    const store = tasksAt(place(kind), { pageSize: 3 });
    const made: string[] = [];
    for (let n = 0; n < 6; n++) made.push((await at(LONG_AGO, () => create(store, "s", { ttl: DAY }))).taskId);
    await at(LONG_AGO + 1, () => store.storeTaskResult(made[2]!, "completed", result));
    const page = await at(LONG_AGO + 2, () => store.listTasks(undefined, "s"));
    expect(page.tasks.map(({ taskId }) => taskId)).toEqual(made.slice(0, 3));
    // The last task of the page changes, the next one expires, another one is created.
    await at(LONG_AGO + 3, () => store.updateTaskStatus(made[4]!, "input_required"));
    const later = await at(LONG_AGO + DAY, () => create(store, "s", { ttl: DAY }));
    const rest = await at(LONG_AGO + DAY, () => store.listTasks(page.nextCursor, "s"));
    expect(rest.tasks.map(({ taskId }) => taskId)).toEqual([later.taskId]);
    for (const cursor of ["nonexistent", "", "1", "1.2", made[0]!, "\ud800", "1e3." + "a".repeat(32)]) {
      expect((await failure(store.listTasks(cursor, "s"), "INVALID_ARGUMENT")).message).toContain("Invalid cursor");
    }
  });

  it("finds no task whose time to live is over, from its creation and again from its end", async () => {
    const store = tasksAt(place(kind), { maxTtlMs: 1_000 });
    const made = await at(LONG_AGO, () => create(store, "s", { ttl: 100 }));
    const ended = await at(LONG_AGO, () => create(store, "s", { ttl: 100 }));
    const longest = await at(LONG_AGO, () => create(store, "s", { ttl: null }));
    const longer = await at(LONG_AGO, () => create(store, "s", { ttl: 5_000 }));
    expect([made.ttl, longest.ttl, longer.ttl]).toEqual([100, 1_000, 1_000]);
    await at(LONG_AGO + 99, async () => {
      expect(await store.getTask(made.taskId)).not.toBeNull();
      await store.storeTaskResult(ended.taskId, "completed", result);
    });
    await at(LONG_AGO + 100, async () => {
      expect(await store.getTask(made.taskId)).toBeNull();
      await failure(store.updateTaskStatus(made.taskId, "working"), "NOT_FOUND");
      await failure(store.getTaskResult(made.taskId), "NOT_FOUND");
      expect(await all(store, "s")).toEqual([ended.taskId, longest.taskId, longer.taskId]);
    });
    await at(LONG_AGO + 198, async () => expect(await store.getTaskResult(ended.taskId)).toEqual(result));
    await at(LONG_AGO + 199, async () => expect(await store.getTask(ended.taskId)).toBeNull());
    await at(LONG_AGO + 1_000, async () => expect(await all(store, "s")).toEqual([]));
  });

  it("removes expired tasks from the database", async () => {
    const target = await shared(kind);
    const store = tasksAt(target);
    for (let n = 0; n < 5; n++) await create(store, "s", { ttl: 1 });
    const kept = await create(store, "s", { ttl: null });
    // A store object sweeps after its first task.
    await vi.waitFor(async () => expect(await all(store)).toEqual([kept.taskId]));
    const next = await create(tasksAt(target), "s2");
    await vi.waitFor(async () => expect((await store.check()).checked.checkpoints).toBe(2));
    expect(await all(store)).toEqual([kept.taskId, next.taskId]);
  });

  it("has no time to live without one", async () => {
    const store = tasksAt(place(kind));
    const { taskId, ttl } = await at(LONG_AGO, () => create(store, "s"));
    expect(ttl).toBeNull();
    expect(await store.getTask(taskId)).not.toBeNull();
    expect((await at(LONG_AGO, () => create(store, "s", { ttl: 0 }))).ttl).toBe(0);
    expect(await all(store)).toEqual([taskId]);
  });

  it("removes the tasks of a session, and no other", async () => {
    const store = tasksAt(place(kind));
    const { taskId } = await create(store, "s");
    const { taskId: other } = await create(store, "s2");
    const { taskId: free } = await create(store);
    await store.deleteSession("s");
    expect(await store.getTask(taskId)).toBeNull();
    expect(await all(store)).toEqual([other, free]);
  });

  it("gives one of two that end a task at the same time, and keeps the result of this one", async () => {
    const [one, other] = await pairOf(kind, (target) => tasksAt(target as string));
    for (let n = 0; n < 20; n++) {
      const { taskId } = await create(one);
      const ends = [
        () => one.storeTaskResult(taskId, "completed", { by: "one" }),
        () => other.updateTaskStatus(taskId, "cancelled"),
        () => other.storeTaskResult(taskId, "failed", { by: "other" }),
      ];
      const settled = await Promise.allSettled(ends.map((end) => end()));
      const won = settled.findIndex(({ status }) => status === "fulfilled");
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect((await other.getTask(taskId))!.status).toBe(["completed", "cancelled", "failed"][won]);
      if (won !== 1) expect(await one.getTaskResult(taskId)).toEqual({ by: won === 0 ? "one" : "other" });
    }
  });

  it("rejects wrong arguments, and stores nothing", async () => {
    const store = tasksAt(place(kind));
    const { taskId } = await create(store);
    await wrongType(store.createTask(undefined as never, 1, request));
    await wrongType(store.createTask({ ttl: "1" as never }, 1, request));
    await wrongType(store.createTask({ context: { at: new Date(0) } }, 1, request));
    await wrongType(store.createTask({}, 1, request, 7 as never));
    await wrongType(store.storeTaskResult(taskId, "working" as never, result));
    await wrongType(store.storeTaskResult(taskId, "completed", undefined as never));
    await wrongType(store.storeTaskResult(taskId, "completed", { value: 1n } as never));
    await wrongType(store.updateTaskStatus(taskId, "done" as never));
    await wrongType(store.updateTaskStatus(taskId, "working", 7 as never));
    await wrongType(store.getTask(7 as never));
    for (const ttl of [-1, 0.5, Number.NaN, Infinity, 1e300]) {
      expect(await rejection(create(store, undefined, { ttl }))).toBeInstanceOf(RangeError);
    }
    expect(await all(store)).toEqual([taskId]);
    expect((await store.getTask(taskId))!.status).toBe("working");
  });
});

describe.each(sharedKinds)("processes on %s", (kind) => {
  it("race to end 50 tasks: one wins each, and a third one reads its end", async () => {
    const target = place(kind);
    const store = tasksAt(target);
    const made: string[] = [];
    for (let n = 0; n < 50; n++) made.push((await create(store, "s", { ttl: DAY })).taskId);
    const ends = await together(
      "mcp.mjs",
      terminal.map((how) => ["end", target, how, ...made]),
    );
    const told = ends.map(({ lines }) => new Map(lines.slice(1).map((line) => JSON.parse(line) as [string, string])));
    for (const taskId of made) {
      const said = told.map((of) => of.get(taskId));
      expect(said.toSorted()).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT", "won"]);
      const { status } = (await store.getTask(taskId, "s"))!;
      expect(status).toBe(terminal[said.indexOf("won")]);
      if (status === "cancelled") await failure(store.getTaskResult(taskId), "NOT_FOUND");
      else expect(await store.getTaskResult(taskId)).toEqual({ by: status });
    }
  });
});

it("checks its options", () => {
  const wrong = (options: unknown) => thrown(() => new ForkpointTaskStore("memory:", options as never));
  expect(wrong({ maxTtlMs: 0 })).toBeInstanceOf(RangeError);
  expect(wrong({ pageSize: "1" })).toBeInstanceOf(TypeError);
  expect(wrong({ pages: 1 }).message).toContain("pages");
});
