// A store on PGlite, as in docs/testing.md: what a test of a program does with its store.
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { copyStore, openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as graphs from "../langgraph/fixtures/moving.mjs";
import { all, thread } from "../langgraph/helpers.js";

const { Command, chat } = graphs as Record<string, any>;

interface State {
  done: string[];
}

let db: PGlite;
let server: PGLiteSocketServer;
let url: string;

beforeAll(async () => {
  db = await PGlite.create();
  server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 10 });
  await server.start();
  url = `postgres://postgres@${server.getServerConn()}/postgres`;
}, 120_000);

afterAll(async () => {
  await server?.stop();
  await db?.close();
});

/** A workflow whose second step fails as long as `broken` is true. */
function workflow(checkpointStore: WorkflowCheckpointStore<State>, isBroken: () => boolean): Workflow<State> {
  const step = (name: string) => ({
    name,
    run: async ({ done }: State) => {
      if (name === "pay" && isBroken()) throw new Error("the card is refused");
      return { done: [...done, name] };
    },
  });
  const steps = [step("check"), step("pay"), step("mail")];
  return new Workflow<State>({ name: "refund", initialState: { done: [] }, steps, checkpointStore });
}

it("saves, resumes, lists, forks and copies a workflow", async () => {
  const store = await openStore(url);
  const runs = new WorkflowCheckpointStore<State>(store);
  let isBroken = true;
  const refund = workflow(runs, () => isBroken);
  await expect(refund.runWithCheckpoints({ runId: "refund-7" })).rejects.toThrow("the card is refused");
  expect((await runs.latest("refund-7"))?.state).toEqual({ done: ["check"] });
  isBroken = false;
  const whole = { done: ["check", "pay", "mail"] };
  expect((await refund.runWithCheckpoints({ runId: "refund-7", resume: true })).state).toEqual(whole);
  const first = (await refund.listCheckpoints("refund-7")).find(({ stepName }) => stepName === "check")!;
  const fork = await refund.fork(first.id, (state) => ({ done: [...state.done, "forked"] }));
  expect(fork.state).toEqual({ done: ["check", "forked", "pay", "mail"] });
  const names = ["refund-7", fork.runId].toSorted();
  expect((await runs.runs()).runs.map(({ runId }) => runId).toSorted()).toEqual(names);
  const lease = await runs.lease({ space: "agentium", run: "refund-7" });
  await lease.release();
  const copy = await openStore("memory:");
  await copyStore(store, copy);
  const copied = (await new WorkflowCheckpointStore<State>(copy).runs()).runs.map(({ runId }) => runId);
  expect(copied.toSorted()).toEqual(names);
  expect((await store.check()).findings).toEqual([]);
  await copy.close();
  await store.close();
});

it("interrupts and resumes a graph, and reads its history", async () => {
  const saver = new ForkpointSaver(url, { lease: true });
  const graph = chat(saver);
  await graph.invoke({ topic: "hotel" }, thread("trip"));
  expect((await graph.getState(thread("trip"))).next).toEqual(["ask"]);
  const { messages } = await graph.invoke(new Command({ resume: "well" }), thread("trip"));
  expect(messages.map(({ id }: { id: string }) => id)).toEqual(["asked", "said"]);
  expect((await saver.listThreads()).threads).toMatchObject([{ threadId: "trip", status: "finished" }]);
  expect((await all(saver.list(thread("trip")))).length).toBeGreaterThan(3);
  await saver.close();
});
