// What deletes a person's data: see docs/personal-data.md.
import { openInspector } from "forkpoint/inspect";
import { ForkpointMastraStore } from "forkpoint/mastra";
import { forgets } from "../../__test__/personal-data.js";
import { snapshot } from "./helpers.js";

const targets = new Map<ForkpointMastraStore, string>();

function open(target: string, options: object): ForkpointMastraStore {
  const store = new ForkpointMastraStore(target, options);
  targets.set(store, target);
  return store;
}

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

// Mastra has no call for it. The inspector opens the database by itself, without `secureDelete`.
forgets("Mastra, resources", 'inspector.remove({ space: "mastra-resources", run: resourceId })', {
  needsVacuum: true,
  open,
  async store(store, id) {
    const [createdAt, updatedAt] = [new Date(), new Date()];
    const resource = { id, workingMemory: mail(id), metadata: { id }, createdAt, updatedAt };
    await (await memoryOf(store)).saveResource({ resource });
  },
  async remove(store, run) {
    await using inspector = await openInspector(targets.get(store)!, { write: true });
    await inspector.remove({ space: "mastra-resources", run });
  },
});
