// What deletes a person's data: see docs/personal-data.md.
import { ForkpointMastraStore } from "forkpoint/mastra";
import { forgets } from "../../__test__/personal-data.js";
import { snapshot } from "./helpers.js";

const open = (target: string, options: object) => new ForkpointMastraStore(target, options);
const memoryOf = async (store: ForkpointMastraStore) => (await store.getStore("memory"))!;
const mail = (person: string) => `My mail is ${person}@example.com.`;

forgets("Mastra, workflows", "deleteWorkflowRunById({ workflowName, runId })", {
  open,
  async store(store, person) {
    const workflows = (await store.getStore("workflows"))!;
    const at = { workflowName: "w", runId: person, resourceId: person };
    for (const n of [1, 2])
      await workflows.persistWorkflowSnapshot({ ...at, snapshot: snapshot({ value: { n: `${n} ${mail(person)}` } }) });
  },
  remove: async (store, runId) =>
    (await store.getStore("workflows"))!.deleteWorkflowRunById({ workflowName: "w", runId }),
});

forgets("Mastra, threads", "deleteThread({ threadId })", {
  open,
  async store(store, person) {
    const memory = await memoryOf(store);
    const [createdAt, updatedAt] = [new Date(), new Date()];
    await memory.saveThread({
      thread: { id: person, resourceId: person, title: mail(person), metadata: { person }, createdAt, updatedAt },
    });
    const content = { format: 2 as const, parts: [{ type: "text" as const, text: mail(person) }] };
    await memory.saveMessages({
      messages: [
        { id: `m-${person}`, threadId: person, resourceId: person, role: "user", type: "text", createdAt, content },
      ],
    });
  },
  remove: async (store, threadId) => (await memoryOf(store)).deleteThread({ threadId }),
});

// The ids of resources stay, so they are random here.
const ids = new Map<string, string>();

forgets("Mastra, resources", "saveResource({ resource })", {
  overwrites: true,
  open,
  async store(store, person) {
    ids.set(person, crypto.randomUUID());
    const [createdAt, updatedAt] = [new Date(), new Date()];
    const resource = { id: ids.get(person)!, workingMemory: mail(person), metadata: { person }, createdAt, updatedAt };
    await (await memoryOf(store)).saveResource({ resource });
  },
  async remove(store, person) {
    const [createdAt, updatedAt] = [new Date(), new Date()];
    const resource = { id: ids.get(person)!, workingMemory: "", metadata: {}, createdAt, updatedAt };
    await (await memoryOf(store)).saveResource({ resource });
  },
});
