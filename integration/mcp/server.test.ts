// The real SDK: a client and servers over HTTP, which are killed in the middle of a call.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { ForkpointEventStore, ForkpointTaskStore } from "forkpoint/mcp";
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { type Socket, createServer, connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder, place, sharedKinds } from "../../__test__/helpers.js";

const program = fileURLToPath(new URL("fixtures/server.mjs", import.meta.url));

/** A server process. It emits each line that it prints. */
async function start(
  target: string,
  port: number,
  jobs: string,
): Promise<{ child: ChildProcess; lines: EventEmitter }> {
  const child = spawn(process.execPath, [program, target, `${port}`, jobs], {
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = new EventEmitter();
  createInterface(child.stdout!).on("line", (line) => lines.emit(line));
  await once(lines, "listening");
  return { child, lines };
}

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 20,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 500,
};

async function clientOf(port: number, user: string, name = "test"): Promise<Client> {
  const client = new Client({ name, version: "1.0.0" }, { capabilities: {} });
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), {
    requestInit: { headers: { "x-user": user } },
    reconnectionOptions,
  });
  // A connection that ends in the middle is an error of the transport.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client has no other way
  client.onerror = () => {};
  // The SDK's types are not made for exactOptionalPropertyTypes.
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  return client;
}

const steps = Array.from({ length: 20 }, (_, at) => at + 1);

/** Spreads connections over servers. Each new one goes to the next server. */
async function balance(ports: number[]): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    const to = connect(ports[count++ % ports.length]!, "127.0.0.1");
    sockets.add(socket);
    for (const [one, other] of [
      [socket, to],
      [to, socket],
    ] as const) {
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => (other.destroy(), sockets.delete(socket)));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, sockets };
}

describe.each(sharedKinds)("servers on %s", (kind) => {
  it("are killed in the middle of a call: the client gets each notification and the result once", async () => {
    const [target, port, jobs] = [place(kind), await freePort(), join(folder(), "jobs.json")];
    const { child, lines } = await start(target, port, jobs);
    const client = await clientOf(port, "ada");
    const got: number[] = [];
    const call = client.callTool({ name: "count", arguments: {} }, CallToolResultSchema, {
      onprogress: ({ progress }) => void got.push(progress),
      timeout: 50_000,
    });
    await once(lines, "step 7");
    child.kill("SIGKILL");
    await once(child, "exit");
    await start(target, port, jobs);
    expect(await call).toMatchObject({ content: [{ type: "text", text: "counted" }] });
    expect(got).toEqual(steps);
  });

  it("answer as two replicas: a client whose connection breaks continues at the other", async () => {
    const [target, ports] = [place(kind), [await freePort(), await freePort()]];
    const files = ports.map((port) => join(folder(), `jobs-${port}.json`));
    const servers = [];
    for (const [at, port] of ports.entries()) servers.push(await start(target, port, files[at]!));
    const { port, sockets } = await balance(ports);
    const client = await clientOf(port, "ada");
    const got: number[] = [];
    const half = Promise.race(servers.map(({ lines }) => once(lines, "step 7")));
    const call = client.callTool({ name: "count", arguments: {} }, CallToolResultSchema, {
      onprogress: ({ progress }) => void got.push(progress),
      timeout: 50_000,
    });
    await half;
    for (const socket of sockets) socket.destroy();
    expect(await call).toMatchObject({ content: [{ type: "text", text: "counted" }] });
    expect(got).toEqual(steps);
  });

  it("create, poll, finish, list and fetch a task, each in the other process", async () => {
    const [target, ports] = [place(kind), [await freePort(), await freePort()]];
    for (const port of ports) await start(target, port, join(folder(), `jobs-${port}.json`));
    const [one, other] = [await clientOf(ports[0]!, "ada"), await clientOf(ports[1]!, "ada")];
    const params = { name: "report", arguments: { title: "Sales" }, task: { ttl: 60_000 } };
    const { task } = await one.request({ method: "tools/call", params }, CreateTaskResultSchema);
    expect(task).toMatchObject({ status: "working", ttl: 60_000, pollInterval: 20 });
    const { taskId } = task;
    expect(await other.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: "working" });
    // This call waits for the end of the task.
    const result = one.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    await other.callTool({ name: "finish", arguments: { taskId } });
    expect(await result).toMatchObject({ content: [{ type: "text", text: `Sales by ${ports[1]}` }] });
    expect(await one.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: "completed" });
    const { tasks } = await one.experimental.tasks.listTasks();
    expect(tasks).toEqual([expect.objectContaining({ taskId, status: "completed" })]);
    await expect(other.experimental.tasks.cancelTask(taskId)).rejects.toThrow("terminal");
    await expect(one.experimental.tasks.getTask("no-such-task")).rejects.toThrow("not found");
    await expect(one.experimental.tasks.listTasks("no-such-cursor")).rejects.toThrow("Invalid cursor");

    const { task: second } = await other.request({ method: "tools/call", params }, CreateTaskResultSchema);
    expect(await one.experimental.tasks.cancelTask(second.taskId)).toMatchObject({ status: "cancelled" });
    await expect(other.callTool({ name: "finish", arguments: { taskId: second.taskId } })).resolves.toMatchObject({
      isError: true,
    });
  });

  it("answer 400 to the event of another session, and to one that is unknown", async () => {
    const [target, port] = [place(kind), await freePort()];
    await start(target, port, join(folder(), "jobs.json"));
    const ada = new ForkpointEventStore(target, { sessionId: "ada" });
    const id = await ada.storeEvent("_GET_stream", { jsonrpc: "2.0", method: "notifications/message", params: {} });
    await ada.storeEvent("_GET_stream", { jsonrpc: "2.0", method: "notifications/message", params: { mail: "ada's" } });
    await ada.close();
    const get = (user: string, after: string) =>
      fetch(`http://127.0.0.1:${port}/mcp`, {
        headers: { accept: "text/event-stream", "x-user": user, "last-event-id": after },
      });
    const own = await get("ada", id);
    expect([own.status, await own.text()]).toEqual([200, expect.stringContaining("ada's")]);
    for (const [user, after] of [
      ["bob", id],
      ["ada", "unknown"],
      ["ada", `${id}0`],
      ["ada", "x".repeat(8_000)],
    ] as const) {
      const answer = await get(user, after);
      expect([answer.status, await answer.text()]).toEqual([400, expect.not.stringContaining("ada's")]);
    }
  });
});

it("has the SDK's types", () => {
  // These lines only compile.
  const typed = async () => {
    const events = new ForkpointEventStore("memory:", { sessionId: "s" });
    const eventStore: import("@modelcontextprotocol/sdk/server/streamableHttp.js").EventStore = events;
    const taskStore: import("@modelcontextprotocol/sdk/experimental/tasks").TaskStore = new ForkpointTaskStore(
      "memory:",
    );
    return [eventStore, taskStore];
  };
  expect(typed).toBeTypeOf("function");
});
