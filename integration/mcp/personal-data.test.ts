// What deletes a person's data: see docs/personal-data.md.
import { openStore } from "forkpoint";
import { ForkpointEventStore, ForkpointTaskMessageQueue, ForkpointTaskStore } from "forkpoint/mcp";
import { forgets } from "../../__test__/personal-data.js";

const mail = (person: string) => ({ mail: `My mail is ${person}@example.com.` });

forgets("MCP, events", "deleteSession()", {
  open: openStore,
  async store(store, person) {
    const events = new ForkpointEventStore(store, { sessionId: person });
    for (const stream of ["_GET_stream", `stream of ${person}`]) {
      await events.storeEvent(stream, {});
      await events.storeEvent(stream, { jsonrpc: "2.0", method: "m", params: mail(person) });
    }
  },
  remove: (store, person) => new ForkpointEventStore(store, { sessionId: person }).deleteSession(),
});

forgets("MCP, tasks", "deleteSession(sessionId)", {
  open: (target, options) => new ForkpointTaskStore(target, options),
  async store(tasks, person) {
    const request = { method: "tools/call", params: mail(person) };
    const { taskId } = await tasks.createTask({ context: mail(person) }, 1, request, person);
    await tasks.updateTaskStatus(taskId, "working", `Asking ${person}`);
    await tasks.storeTaskResult(taskId, "completed", { content: [{ type: "text", text: person }] });
  },
  remove: (tasks, person) => tasks.deleteSession(person),
});

forgets("MCP, queues", "dequeueAll(taskId)", {
  open: (target, options) => new ForkpointTaskMessageQueue(target, options),
  async store(queue, person) {
    for (let n = 0; n < 3; n++) await queue.enqueue(`task of ${person}`, { n, ...mail(person) });
  },
  remove: (queue, person) => queue.dequeueAll(`task of ${person}`),
});
