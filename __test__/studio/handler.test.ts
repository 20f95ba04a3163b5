// Tests studioHandler: the studio in a server of one's own.
import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CheckpointStore, type Store } from "forkpoint";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { type StudioHandler, type StudioHandlerOptions, studioHandler } from "forkpoint/studio";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { opened } from "../contents.js";
import { thrown } from "../helpers.js";
import { ask, errorOf, saveRun } from "./helpers.js";

const HOST = "tools.example.com";

interface Served {
  port: number;
  studio: StudioHandler;
}

async function serve(of: Store | Inspector, options: Partial<StudioHandlerOptions> = {}): Promise<Served> {
  const studio = studioHandler(of, { hosts: [HOST], authorize: () => true, ...options });
  const server = createServer((request, response) => void studio(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await studio.close();
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, studio };
}

const host = { host: HOST };

describe("studioHandler", () => {
  test("serves the page under its path, with addresses relative to it, and without a token", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [1]);
    const { port } = await serve(store, { basePath: "/tools/studio" });
    const page = await ask(port, "/tools/studio/", { headers: host });
    expect(page.status).toBe(200);
    expect(page.text).toContain('data-access="user"');
    for (const [, name] of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
      const path = new URL(name!, `http://${HOST}/tools/studio/`).pathname;
      expect(await ask(port, path, { headers: host }), path).toMatchObject({ status: 200 });
    }
    expect(JSON.parse((await ask(port, "/tools/studio/api/v1/runs", { headers: host })).text).runs).toHaveLength(1);
    const bare = await ask(port, "/tools/studio", { headers: host });
    const [status, location] = [bare.status, new URL(bare.headers.location!, `http://${HOST}/tools/studio`).pathname];
    expect([status, location]).toEqual([308, "/tools/studio/"]);
    for (const path of ["/", "/tools/", "/tools/studioX/", "/api/v1/info", "/tools/studio/x", "/tools/studio/../"]) {
      expect(errorOf(await ask(port, path, { headers: host })), path).toMatchObject({ status: 404 });
    }
  });

  test("at the root, and with a slash at the end of the path", async () => {
    const store = await opened("memory:");
    for (const [basePath, path] of [
      [undefined, "/"],
      ["/", "/"],
      ["", "/"],
      ["/studio/", "/studio/"],
    ] as const) {
      const { port } = await serve(store, basePath === undefined ? {} : { basePath });
      expect(await ask(port, path, { headers: host }), basePath).toMatchObject({ status: 200 });
      expect(await ask(port, `${path}api/v1/info`, { headers: host })).toMatchObject({ status: 200 });
    }
  });

  test("asks authorize for each request under /api/, and a throw or a rejection counts as no", async () => {
    const store = await opened("memory:");
    const asked: string[] = [];
    const answers: Record<string, unknown> = {
      yes: true,
      no: false,
      later: Promise.resolve(true),
      never: Promise.reject(new Error("no")),
      // Only true is yes.
      truthy: "yes",
      one: 1,
    };
    (answers["never"] as Promise<unknown>).catch(() => {});
    const authorize = (request: IncomingMessage) => {
      asked.push(`${request.method} ${request.url}`);
      const user = String(request.headers["x-user"]);
      if (user === "thrower") throw new Error("no");
      return answers[user] as boolean;
    };
    const { port } = await serve(store, { authorize });
    const as = async (user: string) =>
      (await ask(port, "/api/v1/info", { headers: { ...host, "x-user": user } })).status;
    expect(await Promise.all(["yes", "later"].map(as))).toEqual([200, 200]);
    expect(await Promise.all(["no", "never", "truthy", "one", "thrower", "nobody"].map(as))).toEqual(
      Array(6).fill(403),
    );
    expect(asked).toHaveLength(8);
    await ask(port, "/", { headers: host });
    expect(asked).toHaveLength(8);
    await ask(port, "/api/v1/fork", { method: "POST", headers: { ...host, "x-user": "no" } });
    expect(asked.at(-1)).toBe("POST /api/v1/fork");
  });

  test("checks the host, the origin and the site before it asks", async () => {
    const store = await opened("memory:");
    const authorize = vi.fn<() => boolean>(() => true);
    const { port } = await serve(store, { authorize, hosts: [HOST, "Localhost:8080"] });
    const status = async (headers: Record<string, string>, path = "/api/v1/info") =>
      (await ask(port, path, { headers })).status;
    for (const headers of [
      { host: "evil.example" },
      { host: `127.0.0.1:${port}` },
      { host: `${HOST}:80` },
      { ...host, origin: "https://evil.example" },
      { ...host, origin: "null" },
      { ...host, "sec-fetch-site": "cross-site" },
      { ...host, "sec-fetch-site": "same-site" },
    ]) {
      expect(await status(headers), JSON.stringify(headers)).toBe(403);
    }
    expect(authorize).not.toHaveBeenCalled();
    // Behind a proxy, the page comes by https.
    for (const origin of [`https://${HOST}`, `http://${HOST}`]) expect(await status({ ...host, origin })).toBe(200);
    expect(await status({ host: "localhost:8080", origin: "http://localhost:8080" })).toBe(200);
  });

  test("reads only, unless write is said", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [1]);
    const body = JSON.stringify({ space: "agentos", run: "run", id });
    const post = { method: "POST", headers: { ...host, "content-type": "application/json" }, body };
    const reader = await serve(store);
    expect(errorOf(await ask(reader.port, "/api/v1/fork", post))).toMatchObject({ status: 403, code: "READ_ONLY" });
    const writer = await serve(store, { write: true });
    expect(await ask(writer.port, "/api/v1/fork", post)).toMatchObject({ status: 201 });
    expect((await store.stats()).checkpoints).toBe(2);
  });

  test("takes an inspector, and leaves stores and inspectors open", async () => {
    const store = await opened("memory:");
    await saveRun(store, "run", [1]);
    const inspector = await openInspector(store);
    const [ofStore, ofInspector] = [await serve(store), await serve(inspector)];
    for (const { port, studio } of [ofStore, ofInspector]) {
      expect(await ask(port, "/api/v1/info", { headers: host })).toMatchObject({ status: 200 });
      await studio.close();
      await studio.close();
      expect(errorOf(await ask(port, "/api/v1/info", { headers: host }))).toMatchObject({
        status: 500,
        code: "CLOSED",
      });
    }
    expect(await inspector.info()).toMatchObject({ backend: "memory" });
    expect((await new CheckpointStore(store).latest("run"))!.id).toBe("run-0");
  });

  test("close() ends the streams of events", async () => {
    const store = await opened("memory:");
    const { port, studio } = await serve(store);
    const stream = ask(port, "/api/v1/events", { headers: host });
    // The stream is open when its first comment has come, so give the server a request to answer in between.
    await ask(port, "/api/v1/info", { headers: host });
    await studio[Symbol.asyncDispose]();
    expect((await stream).text).toMatch(/^: open\n\n/);
  });

  test("refuses wrong options", async () => {
    const store = await opened("memory:");
    const good = { hosts: [HOST], authorize: () => true };
    for (const [of, options, message] of [
      [store, undefined, "authorize"],
      [store, {}, "authorize"],
      [store, { authorize: () => true }, "hosts"],
      [store, { ...good, authorize: true }, 'option "authorize" must be a function'],
      [store, { ...good, hosts: [] }, 'option "hosts" must be a list'],
      [store, { ...good, hosts: HOST }, 'option "hosts" must be a list'],
      [store, { ...good, hosts: [`https://${HOST}`] }, 'option "hosts" must be a list'],
      [store, { ...good, hosts: [7] }, 'option "hosts" must be a list'],
      [store, { ...good, basePath: "studio" }, 'option "basePath" must be a path'],
      [store, { ...good, basePath: "/a//b" }, 'option "basePath" must be a path'],
      [store, { ...good, basePath: 7 }, 'option "basePath" must be a path'],
      [store, { ...good, write: "yes" }, 'option "write" must be true or false'],
      [store, { ...good, host: HOST }, 'Did you mean "hosts"'],
      [null, good, "store must be an open store or inspector, but is null"],
      ["agent.db", good, "store must be an open store or inspector, but is a string"],
    ] as const) {
      const error = thrown(() => studioHandler(of as unknown as Store, options as unknown as StudioHandlerOptions));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toContain(message);
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
  });
});
