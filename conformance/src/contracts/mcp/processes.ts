// What remains when a process ends, and what several processes do at once.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { killed, race } from "../../suite/processes.js";
import type { Program } from "../../suite/types.js";
import { answer, create, eventsOf, fill, note, numbers, replay, sends, tasksOf } from "./messages.js";
import type { Stores } from "./store.js";

const durable = "ours: the client of a server that was restarted resumes its stream" as const;

export const programs: Record<string, Program<Stores>> = {
  async replay({ store, input: { id } }) {
    return (await replay(await store.events("s"), id)).found;
  },

  async append({ store, input: { name, count }, say, told }) {
    const events = await store.events("s");
    await say("ready");
    await told();
    for (let n = 0; n < count; n++) await events.storeEvent("a", note(`${name}:${n}`));
  },

  async appendForever({ store, say }) {
    const events = await store.events("s");
    for (let n = 0; ; n++) await say(await events.storeEvent("a", note(n)));
  },

  /** Ends tasks. Returns which it has ended. */
  async end({ store, input: { status, ids }, say, told }) {
    const tasks = tasksOf(store);
    await say("ready");
    await told();
    const won: string[] = [];
    for (const id of ids as string[]) {
      const ended =
        status === "cancelled" ? tasks.updateTaskStatus(id, status) : tasks.storeTaskResult(id, status, answer(status));
      await ended.then(
        () => won.push(id),
        () => {},
      );
    }
    return won;
  },
};

const restarts = expectations<Stores>("restart", {
  "mcp/restart-events": {
    should: durable,
    title: "replays events after it was opened again",
    async check(trial) {
      const ids = await fill(await eventsOf(trial), "a", 0, 100);
      await trial.reopen();
      const events = await eventsOf(trial);
      await sends(events, ids[0]!, numbers(1, 100));
      assert.equal((await replay(events, ids[0]!)).stream, "a");
    },
  },
  "mcp/restart-continues": {
    should: durable,
    title: "adds events to a stream after it was opened again",
    async check(trial) {
      const [first] = await fill(await eventsOf(trial), "a", 0, 3);
      await trial.reopen();
      const events = await eventsOf(trial);
      const [next] = await fill(events, "a", 3, 6);
      await sends(events, first!, [1, 2, 3, 4, 5]);
      await sends(events, next!, [4, 5]);
    },
  },
  "mcp/restart-tasks": {
    should: "ours: a client polls its task after the server was restarted",
    title: "has its tasks and their results after it was opened again",
    async check(trial) {
      const before = tasksOf(await trial.store());
      const [working, done] = [await create(before, "s"), await create(before, "s")];
      await before.storeTaskResult(done.taskId, "completed", answer("done"));
      await trial.reopen();
      const tasks = tasksOf(await trial.store());
      assert.deepEqual(await tasks.getTask(working.taskId, "s"), working);
      assert.deepEqual(await tasks.getTaskResult(done.taskId, "s"), answer("done"));
      assert.equal(await tasks.getTask(done.taskId, "t"), null, "for another session");
    },
  },
  "mcp/process-replays": {
    should: "ours: with several replicas, another process gets the client's next request",
    title: "replays the events of a process in another one",
    async check(trial) {
      const [first] = await fill(await eventsOf(trial), "a", 0, 5);
      assert.deepEqual(await trial.child("replay", { id: first }).result(), [1, 2, 3, 4]);
    },
  },
});

const races = expectations<Stores>("race", {
  "mcp/race-append": {
    should: "ours: a stream may get events from the process of its call and from another one that continues it",
    title: "keeps all events of two processes that add to one stream, each one's in its order",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      await race(trial, ["append", { name: "x", count: 30 }], ["append", { name: "y", count: 30 }]);
      const { found } = await replay(events, first);
      for (const name of ["x", "y"])
        assert.deepEqual(
          found.filter((text) => text.startsWith(name)),
          numbers(0, 30).map((n) => `${name}:${n}`),
        );
      assert.equal(found.length, 60);
    },
  },
  "mcp/race-end": {
    should: "ours: a task may be cancelled by its client while another process ends it",
    title: "lets one of two processes end a task, and keeps its end",
    async check(trial) {
      const tasks = tasksOf(await trial.store());
      const ids: string[] = [];
      for (let n = 0; n < 20; n++) ids.push((await create(tasks)).taskId);
      const [done, cancelled] = await race<string[]>(
        trial,
        ["end", { status: "completed", ids }],
        ["end", { status: "cancelled", ids }],
      );
      assert.deepEqual([...done!, ...cancelled!].toSorted(), ids.toSorted(), "each must be ended once");
      for (const id of ids)
        assert.equal((await tasks.getTask(id))?.status, done!.includes(id) ? "completed" : "cancelled");
    },
  },
});

const kills = expectations<Stores>("kill", {
  "mcp/kill-keeps": {
    should: "ours: an event whose id a client may have received is there when it resumes",
    title: "keeps each event whose id was returned before the process is killed",
    async check(trial) {
      const ids = await killed(trial, "appendForever");
      const events = await eventsOf(trial);
      const { found } = await replay(events, ids[0]);
      assert.ok(found.length >= ids.length - 1, `${ids.length} events were stored, but ${found.length + 1} are there`);
      assert.deepEqual(found, numbers(1, found.length + 1));
    },
  },
});

export const processes = [...restarts, ...races, ...kills];
