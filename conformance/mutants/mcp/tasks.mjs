// Mutants of task stores, and of what remains when a process ends.
import { ReferenceEvents as Events, ReferenceStore as Store, ReferenceTasks as Tasks, copyOf } from "./reference.mjs";

/** Changes what a method of the tasks returns. */
const returning = (method, change) =>
  ({
    [method]: class extends Tasks {
      async [method](...args) {
        return change(await super[method](...args), ...args);
      }
    },
  })[method];

/** Lets a method of the tasks do nothing in place of rejecting. */
const quiet = (method) =>
  ({
    [method]: class extends Tasks {
      async [method](...args) {
        return await super[method](...args).catch(() => {});
      }
    },
  })[method];

/** A store that does not see that a task has ended. */
const endless = (isIgnored) => ({
  store: class extends Store {
    async change(taskId, change, result, session) {
      const found = this.needed(taskId, session);
      if (isIgnored(found.task, change, result)) found.task = { ...found.task, status: "working" };
      return await super.change(taskId, change, result, session);
    }
  },
});

const shared = new Map();
const openings = new WeakMap();

export const tasks = {
  "mcp/task-created": returning("createTask", (task) => ({ ...task, createdAt: new Date(0).toISOString() })),
  "mcp/task-get": returning("getTask", (task) => task && { ...task, pollInterval: 1_000 }),
  "mcp/task-unknown": returning("getTask", (task) => task ?? undefined),
  "mcp/task-unknown-throws": quiet("updateTaskStatus"),
  "mcp/task-ids-differ": class extends Tasks {
    createTask(params, _requestId, _request, session) {
      return this.store.create(`${Date.now()}`, params, session);
    }
  },
  "mcp/task-result": returning("getTaskResult", ({ content: [first] }) => first),
  "mcp/task-no-result": class extends Tasks {
    async getTaskResult(taskId, session) {
      return await super.getTaskResult(taskId, session).catch((error) => {
        if (!error.message.includes("has no result")) throw error;
      });
    }
  },
  "mcp/task-update": class extends Tasks {
    updateTaskStatus(taskId, status, _message, session) {
      return super.updateTaskStatus(taskId, status, undefined, session);
    }
  },
  "mcp/task-updated-at": returning("getTask", (task) => task && { ...task, lastUpdatedAt: task.createdAt }),
  "mcp/task-ends-once": endless(({ status }, _, result) => status === "cancelled" && result === undefined),
  "mcp/task-result-once": endless(({ status }, _, result) => status === "completed" && result !== undefined),
  "mcp/task-result-after-cancel": endless(({ status }, _, result) => status === "cancelled" && result !== undefined),
  "mcp/list-order": returning("listTasks", (page) => ({ ...page, tasks: page.tasks.toReversed() })),
  "mcp/list-pages": returning("listTasks", ({ tasks, nextCursor }) => ({
    tasks: nextCursor === undefined ? tasks : tasks.slice(1),
    nextCursor,
  })),
  "mcp/list-grows": class extends Tasks {
    #lists = new Map();
    /** The list keeps the tasks of the first page. */
    async listTasks(cursor, session) {
      const key = `${session}`;
      if (cursor === undefined) {
        const { tasks } = await this.store.list(undefined, session, Infinity);
        this.#lists.set(key, tasks);
      }
      const all = this.#lists.get(key) ?? [];
      const from = cursor === undefined ? 0 : all.findIndex(({ taskId }) => taskId === cursor) + 1;
      if (cursor !== undefined && from === 0) throw new Error("Invalid cursor");
      const tasks = structuredClone(all.slice(from, from + 10));
      return from + 10 < all.length ? { tasks, nextCursor: tasks.at(-1).taskId } : { tasks };
    }
  },
  "mcp/list-wrong-cursor": class extends Tasks {
    async listTasks(cursor, session) {
      return await super.listTasks(cursor, session).catch(() => super.listTasks(undefined, session));
    }
  },
  "mcp/task-other-session": {
    store: class extends Store {
      needed(taskId) {
        return super.needed(taskId);
      }
    },
  },
  "mcp/task-no-session": {
    store: class extends Store {
      seen(taskId, session) {
        const found = super.seen(taskId, session);
        return found?.session === session || session === undefined ? found : undefined;
      }
    },
  },
  "mcp/list-sessions": class extends Tasks {
    async listTasks(cursor, session) {
      const { tasks } = await this.store.list(undefined, undefined, Infinity);
      return cursor === undefined ? { tasks: session === "u" ? [] : tasks } : { tasks: [] };
    }
  },
  "mcp/task-copies-out": {
    store: class extends Store {
      async get(taskId, session) {
        return this.seen(taskId, session)?.task ?? null;
      }
    },
  },
  "mcp/ttl-expires": {
    store: class extends Store {
      endsOf() {
        return Infinity;
      }
    },
  },
  "mcp/ttl-null": {
    store: class extends Store {
      endsOf(ttl) {
        return this.now() + (ttl ?? 50);
      }
    },
  },
  "mcp/ttl-after-restart": {
    // Its timer is gone with the process.
    store: class extends Store {
      #timers = new Set();
      endsOf() {
        return Infinity;
      }
      async create(taskId, params, session) {
        const task = await super.create(taskId, params, session);
        if (params.ttl && !shared.has(taskId))
          this.#timers.add(setTimeout(() => this.tasks.delete(taskId), params.ttl));
        shared.set(taskId, true);
        return task;
      }
    },
  },
  "mcp/restart-events": { faults: { forgets: (method) => method === "put" } },
  /** Begins each stream again after a restart: its events know only those of the same opening. */
  "mcp/restart-continues": class extends Events {
    async storeEvent(stream, message) {
      const opening = openings.get(this.store) ?? crypto.randomUUID();
      openings.set(this.store, opening);
      return await this.store.put(this.session, stream, `${opening}.${crypto.randomUUID()}`, copyOf(message));
    }
    replayEventsAfter(id, { send }) {
      const isSame = (other) => other.split(".")[0] === id.split(".")[0];
      return super.replayEventsAfter(id, { send: async (other, message) => isSame(other) && send(other, message) });
    }
  },
  "mcp/restart-tasks": { faults: { forgets: (method) => method === "change" } },
  "mcp/process-replays": { begin: true },
  "mcp/race-append": { faults: { unlockedMs: 3 } },
  "mcp/race-end": { faults: { isDeaf: true } },
  "mcp/kill-keeps": { faults: { lateMs: 60 } },
};
