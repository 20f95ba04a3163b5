// A store on PGlite: what a test of a program does with its store. docs.test.ts runs the workflow of docs/testing.md.
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { copyStore, openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as graphs from "../langgraph/fixtures/moving.mjs";
import { all, thread } from "../langgraph/helpers.js";

const { Command, chat } = graphs as Record<string, any>;

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

it("interrupts and resumes a graph under leases, reads its history, forks and copies it", async () => {
  const store = await openStore(url);
  const saver = new ForkpointSaver(store, { lease: true });
  const graph = chat(saver);
  await graph.invoke({ topic: "hotel" }, thread("trip"));
  expect((await graph.getState(thread("trip"))).next).toEqual(["ask"]);
  const { messages } = await graph.invoke(new Command({ resume: "well" }), thread("trip"));
  expect(messages.map(({ id }: { id: string }) => id)).toEqual(["asked", "said"]);
  await saver.copyThread("trip", "fork");
  const finished = ["fork", "trip"].map((threadId) => ({ threadId, status: "finished" }));
  expect((await saver.listThreads()).threads).toMatchObject(finished);
  expect((await all(saver.list(thread("trip")))).length).toBeGreaterThan(3);
  const copy = await openStore("memory:");
  await copyStore(store, copy);
  expect(await all(new ForkpointSaver(copy).list({}))).toEqual(await all(saver.list({})));
  expect((await store.check()).findings).toEqual([]);
  await copy.close();
  await store.close();
});
