// What deletes a person's data, for the frameworks whose contracts need no package: see docs/personal-data.md.
import { readFileSync } from "node:fs";
import { CheckpointStore, openStore } from "forkpoint";
import { ForkpointStorage, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { expect, it } from "vitest";
import { checkpoint } from "./helpers.js";
import { forgets, page } from "./personal-data.js";

const mail = (person: string) => `${person}@example.com`;

forgets("AgentOS", "clear(runId)", {
  open: (target, options) => new CheckpointStore(target, options),
  async store(store, person) {
    const state = { ...checkpoint().state, scratch: { mail: mail(person) } } as never;
    for (const n of [1, 2]) await store.save(checkpoint({ id: `${person} ${n}`, runId: person, timestamp: n, state }));
  },
  remove: (store, person) => store.clear(person),
});

forgets("Agentium", "clear(runId)", {
  open: (target, options) => new WorkflowCheckpointStore<{ mail: string }>(target, options),
  store(store, person) {
    const step = { id: `${person}:1`, runId: person, stepIndex: 0, stepName: "ask", createdAt: Date.now() };
    return store.save({ ...step, state: { mail: mail(person) } });
  },
  remove: (store, person) => store.clear(person),
});

forgets("Agentium's storage", "delete(namespace, key)", {
  async open(target, options) {
    const opened = await openStore(target, options);
    const storage = new ForkpointStorage(opened);
    return { storage, vacuum: () => opened.vacuum(), close: () => opened.close() };
  },
  store: ({ storage }, person) => storage.set("users", person, { mail: mail(person) }),
  remove: ({ storage }, person) => storage.delete("users", person),
});

forgets("TinyAgents", "deleteThread(threadId)", {
  open: (target, options) => new Checkpointer<{ mail: string }>(target, options),
  store: (checkpointer, person) =>
    new Graph<{ mail: string }>({
      nodes: { ask: ({ mail: of }) => ({ mail: `${of}!` }) },
      edges: [[START, "ask"]],
      reducer: (state, update) => ({ ...state, ...update }),
      checkpointer,
    }).invoke({ mail: mail(person) }, { threadId: person }),
  remove: (checkpointer, person) => checkpointer.deleteThread(person),
});

forgets("Helix", "deleteSession(sessionId)", {
  open: (target, options) => new SessionStore(target, options),
  async store(store, person) {
    await store.createSession(person, { agentType: "planner", initialState: { mail: mail(person) } });
    await store.appendMessages(person, [{ role: "user", content: mail(person) }]);
    const state = (await store.loadState(person))!;
    const id = `${person}-1`;
    await store.saveCheckpoint({ id, sessionId: person, stepCount: 1, timestamp: Date.now(), state });
    await store.stageChanges(person, { mail: mail(person) });
  },
  remove: (store, person) => store.deleteSession(person),
});

it("every row of the table has a test", () => {
  const table = page.slice(page.indexOf("## Delete a user's data"), page.indexOf("## Find data by its content"));
  const rows = [...table.matchAll(/^\| (?!framework|-)([^|]+?) \|/gm)].map(([, framework]) => framework);
  const files = [
    "../__test__",
    ...["ai", "claude-agent-sdk", "langgraph", "mastra", "mcp", "openai-agents"].map(
      (name) => `../integration/${name}`,
    ),
  ];
  const tested = files.flatMap((file) => {
    const code = readFileSync(new URL(`${file}/personal-data.test.ts`, import.meta.url), "utf8");
    return [...code.matchAll(/^forgets\("([^"]+)"/gm)].map(([, framework]) => framework);
  });
  expect(rows.toSorted()).toEqual(tested.toSorted());
});
