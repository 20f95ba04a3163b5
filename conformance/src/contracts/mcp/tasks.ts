// Task stores: states, ends, sessions, lists and times to live.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { answer, create, listed, numbers, request, tasksOf } from "./messages.js";
import type { Stores, TaskStore } from "./store.js";

const types = "documented: https://github.com/modelcontextprotocol/typescript-sdk (TaskStore, experimental)" as const;
const spec = "documented: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks" as const;
const example = "framework: the SDK's InMemoryTaskStore" as const;
const terminal = ["completed", "failed", "cancelled"] as const;

const end = (tasks: TaskStore, taskId: string, status: string, by: string) =>
  status === "cancelled" ? tasks.updateTaskStatus(taskId, status) : tasks.storeTaskResult(taskId, status, answer(by));

const contract = expectations<Stores>("contract", {
  "mcp/task-created": {
    must: types,
    title: "creates a task that is working, with the time of its creation",
    async checkStore(store) {
      const before = Date.now();
      const task = await create(tasksOf(store));
      assert.deepEqual([task.status, task.ttl, typeof task.taskId], ["working", null, "string"]);
      assert.equal(task.lastUpdatedAt, task.createdAt);
      const at = Date.parse(task.createdAt);
      assert.ok(at >= before - 1_000 && at <= Date.now() + 1_000, `created at ${task.createdAt}`);
    },
  },
  "mcp/task-get": {
    must: types,
    title: "returns a task as it was created",
    async checkStore(store) {
      const task = await tasksOf(store).createTask({ ttl: 60_000, pollInterval: 70 }, "r", request);
      assert.deepEqual([task.ttl, task.pollInterval], [60_000, 70]);
      assert.deepEqual(await tasksOf(store).getTask(task.taskId), task);
    },
  },
  "mcp/task-unknown": {
    must: types,
    title: "returns null for an unknown task",
    async checkStore(store) {
      await create(tasksOf(store));
      for (const id of ["no-such-task", "", "__proto__"]) assert.equal(await tasksOf(store).getTask(id), null, id);
    },
  },
  "mcp/task-unknown-throws": {
    must: example,
    title: "rejects a change or a read of the result of an unknown task",
    async checkStore(store) {
      const tasks = tasksOf(store);
      await assert.rejects(tasks.storeTaskResult("none", "completed", answer("a")), /not found/);
      await assert.rejects(tasks.updateTaskStatus("none", "working"), /not found/);
      await assert.rejects(tasks.getTaskResult("none"), /not found/);
    },
  },
  "mcp/task-ids-differ": {
    must: types,
    title: "gives each task an id of its own",
    async checkStore(store) {
      const tasks = await Promise.all(numbers(0, 20).map(() => create(tasksOf(store))));
      assert.equal(new Set(tasks.map(({ taskId }) => taskId)).size, 20);
    },
  },
  "mcp/task-result": {
    must: types,
    title: "returns the result that a task has ended with",
    async checkStore(store) {
      const tasks = tasksOf(store);
      for (const status of ["completed", "failed"]) {
        const { taskId } = await create(tasks);
        await tasks.storeTaskResult(taskId, status, answer(status));
        assert.equal((await tasks.getTask(taskId))?.status, status);
        assert.deepEqual(await tasks.getTaskResult(taskId), answer(status));
      }
    },
  },
  "mcp/task-no-result": {
    must: example,
    title: "rejects a read of a result that is not there yet",
    async checkStore(store) {
      const { taskId } = await create(tasksOf(store));
      await assert.rejects(tasksOf(store).getTaskResult(taskId));
    },
  },
  "mcp/task-update": {
    must: types,
    title: "changes the status, with a message",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const { taskId } = await create(tasks);
      await tasks.updateTaskStatus(taskId, "input_required", "Which one?");
      const { status, statusMessage } = (await tasks.getTask(taskId))!;
      assert.deepEqual([status, statusMessage], ["input_required", "Which one?"]);
      await tasks.updateTaskStatus(taskId, "working");
      assert.equal((await tasks.getTask(taskId))?.status, "working");
    },
  },
  "mcp/task-updated-at": {
    must: types,
    title: "keeps the time of creation, and records that of the last change",
    async checkStore(store, trial) {
      const tasks = tasksOf(store);
      const made = await create(tasks);
      await trial.sleep(20);
      await tasks.updateTaskStatus(made.taskId, "input_required");
      const now = (await tasks.getTask(made.taskId))!;
      assert.equal(now.createdAt, made.createdAt);
      assert.ok(Date.parse(now.lastUpdatedAt) > Date.parse(made.createdAt), `last updated at ${now.lastUpdatedAt}`);
    },
  },
  "mcp/task-ends-once": {
    must: spec,
    title: "never changes the status of a task that has ended",
    async checkStore(store) {
      const tasks = tasksOf(store);
      for (const first of terminal) {
        const { taskId } = await create(tasks);
        await end(tasks, taskId, first, "first");
        for (const second of ["working", "input_required", ...terminal])
          await assert.rejects(tasks.updateTaskStatus(taskId, second), Error, `${first}, then ${second}`);
        assert.equal((await tasks.getTask(taskId))?.status, first);
      }
    },
  },
  "mcp/task-result-once": {
    must: example,
    title: "keeps the first result of a task",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const { taskId } = await create(tasks);
      await tasks.storeTaskResult(taskId, "completed", answer("first"));
      await assert.rejects(tasks.storeTaskResult(taskId, "failed", answer("second")));
      assert.deepEqual(await tasks.getTaskResult(taskId), answer("first"));
      assert.equal((await tasks.getTask(taskId))?.status, "completed");
    },
  },
  "mcp/task-result-after-cancel": {
    must: spec,
    title: "rejects the result of a task that was cancelled",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const { taskId } = await create(tasks);
      await tasks.updateTaskStatus(taskId, "cancelled");
      await assert.rejects(tasks.storeTaskResult(taskId, "completed", answer("late")));
      assert.equal((await tasks.getTask(taskId))?.status, "cancelled");
      await assert.rejects(tasks.getTaskResult(taskId));
    },
  },
});

const order = expectations<Stores>("order", {
  "mcp/list-order": {
    must: example,
    title: "lists tasks in the order of their creation",
    async checkStore(store) {
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.push((await create(tasksOf(store))).taskId);
      await tasksOf(store).updateTaskStatus(ids[0]!, "input_required");
      assert.deepEqual(await listed(tasksOf(store)), ids);
    },
  },
  "mcp/list-pages": {
    must: types,
    title: "lists each of 120 tasks once, page by page",
    async checkStore(store) {
      const ids: string[] = [];
      for (let n = 0; n < 120; n++) ids.push((await create(tasksOf(store))).taskId);
      assert.deepEqual(await listed(tasksOf(store)), ids);
    },
  },
  "mcp/list-grows": {
    must: spec,
    title: "neither repeats nor hides a task if others are created between two pages",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const ids: string[] = [];
      for (let n = 0; n < 120; n++) ids.push((await create(tasks)).taskId);
      const first = await tasks.listTasks();
      ids.push((await create(tasks)).taskId);
      const found = first.tasks.map(({ taskId }) => taskId);
      for (let cursor = first.nextCursor; cursor !== undefined;) {
        const page = await tasks.listTasks(cursor);
        found.push(...page.tasks.map(({ taskId }) => taskId));
        cursor = page.nextCursor;
      }
      assert.deepEqual(found, ids);
    },
  },
  "mcp/list-wrong-cursor": {
    must: "framework: shared/protocol.ts answers with an error of the parameters if listTasks rejects",
    title: "rejects a cursor that no page has returned",
    async checkStore(store) {
      await create(tasksOf(store));
      await assert.rejects(tasksOf(store).listTasks("no-such-cursor"));
    },
  },
});

const isolation = expectations<Stores>("isolation", {
  "mcp/task-other-session": {
    must: example,
    title: "does not find a task of another session",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const { taskId } = await create(tasks, "s");
      assert.equal(await tasks.getTask(taskId, "t"), null);
      await assert.rejects(tasks.updateTaskStatus(taskId, "cancelled", undefined, "t"), /not found/);
      await assert.rejects(tasks.storeTaskResult(taskId, "failed", answer("t"), "t"), /not found/);
      await assert.rejects(tasks.getTaskResult(taskId, "t"), /not found/);
      assert.equal((await tasks.getTask(taskId, "s"))?.status, "working");
    },
  },
  "mcp/task-no-session": {
    must: example,
    title: "finds a task without a session for every session, and every task for a call without one",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const [free, owned] = [await create(tasks), await create(tasks, "s")];
      for (const session of ["s", "t"]) assert.deepEqual(await tasks.getTask(free.taskId, session), free);
      assert.deepEqual(await tasks.getTask(owned.taskId), owned);
    },
  },
  "mcp/list-sessions": {
    must: example,
    title: "lists for a session its own tasks and those without a session, and all tasks without one",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const ids: string[] = [];
      for (const session of ["s", "t", undefined, "s", undefined]) ids.push((await create(tasks, session)).taskId);
      const at = (...places: number[]) => places.map((place) => ids[place]);
      assert.deepEqual(await listed(tasks, "s"), at(0, 2, 3, 4));
      assert.deepEqual(await listed(tasks, "t"), at(1, 2, 4));
      assert.deepEqual(await listed(tasks, "u"), at(2, 4));
      assert.deepEqual((await listed(tasks)).toSorted(), ids.toSorted());
    },
  },
  "mcp/task-copies-out": {
    should: "ours: a program may change what it has read",
    title: "keeps a task if a program changes what was returned",
    async checkStore(store) {
      const tasks = tasksOf(store);
      const made = await create(tasks);
      const { taskId } = made;
      made.status = "failed";
      const found = (await tasks.getTask(taskId))!;
      found.status = "failed";
      (await tasks.listTasks()).tasks[0]!.status = "failed";
      assert.equal((await tasks.getTask(taskId))?.status, "working");
    },
  },
});

const retention = expectations<Stores>("retention", {
  "mcp/ttl-expires": {
    must: spec,
    title: "does not find a task whose time to live is over",
    async checkStore(store, trial) {
      const tasks = tasksOf(store);
      const [short, long] = [await create(tasks, undefined, 60), await create(tasks, undefined, 60_000)];
      await trial.sleep(150);
      assert.equal(await tasks.getTask(short.taskId), null);
      assert.deepEqual(await listed(tasks), [long.taskId]);
    },
  },
  "mcp/ttl-null": {
    must: types,
    title: "keeps a task without a time to live",
    async checkStore(store, trial) {
      const { taskId } = await create(tasksOf(store), undefined, null);
      await trial.sleep(150);
      assert.notEqual(await tasksOf(store).getTask(taskId), null);
    },
  },
  "mcp/ttl-after-restart": {
    must: spec,
    group: "restart",
    title: "does not find an expired task after it was opened again",
    async check(trial) {
      const { taskId } = await create(tasksOf(await trial.store()), undefined, 60);
      await trial.reopen();
      await trial.sleep(150);
      assert.equal(await tasksOf(await trial.store()).getTask(taskId), null);
    },
  },
});

export const tasks = [...contract, ...order, ...isolation, ...retention];
