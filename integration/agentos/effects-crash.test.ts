// Kills a program with effects at every await. The test is the server that the effects arrive at.
// @module-tag slow
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Child, type Line } from "./children.js";
import { folder } from "./harness.js";

/** The long form kills at every point. `npm test` kills at every eighth one. */
const every = Number(process.env["FORKPOINT_FAULT_EVERY"] ?? 8);

/** An HTTP server that answers a repeated idempotency key with the first result. */
class Server {
  /** What arrived, in order. */
  readonly arrived: Array<{ effect: string; key: string }> = [];
  /** The effect that it does not answer. */
  silent: string | undefined;
  readonly #results = new Map<string, object>();
  #port = 0;

  static async start(): Promise<Server> {
    const server = new Server();
    const http = createServer((request, response) => {
      const { "idempotency-key": key, effect } = request.headers as Record<string, string>;
      server.arrived.push({ effect: effect!, key: key! });
      const result = server.#results.get(key!) ?? { receipt: `${effect} ${server.#results.size}` };
      server.#results.set(key!, result);
      if (effect !== server.silent) response.end(JSON.stringify(result));
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    server.#port = (http.address() as AddressInfo).port;
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  count(effect: string): number {
    return this.arrived.filter((one) => one.effect === effect).length;
  }

  keys(effect: string): Set<string> {
    return new Set(this.arrived.filter((one) => one.effect === effect).map(({ key }) => key));
  }
}

const names = ["pay", "mail"];

/** Starts the program. `KILL_AT` is the point at which it is killed. */
const start = (database: string, { url }: Server, graph: string, env: NodeJS.ProcessEnv = {}) =>
  new Child("effects.mjs", [database, url, graph], env);

async function ended(child: Child): Promise<Line> {
  const line = await child.until(({ event }) => event === "end");
  expect(child.lines.filter(({ event }) => event === "failed")).toEqual([]);
  expect(await child.exit()).toBe(0);
  return line;
}

/**
 * Starts the program and kills it at a point. Returns the output of the run, or null if the process was killed. An effect that
 * was recorded before must not arrive again.
 */
async function attempt(database: string, server: Server, graph: string, at: number | undefined, where: string) {
  const child = start(database, server, graph, at === undefined ? {} : { KILL_AT: String(at) });
  const { arrived } = server;
  const before = arrived.length;
  const end = await child.until(({ event }) => event === "end").catch(() => null);
  const { effects = {} } = (child.lines.find(({ event }) => event === "start") ?? {}) as { effects?: object };
  for (const [name, state] of Object.entries(effects)) {
    const again = arrived.slice(before).filter(({ effect }) => effect === name);
    if (state === "done") expect(again, where).toEqual([]);
  }
  expect(child.lines.filter(({ event }) => event === "failed")).toEqual([]);
  if (end === null) expect(await child.exit(), where).toBeNull();
  return end && (end["output"] as Record<string, { receipt: string }>);
}

describe.each(["line", "parallel", "human"])("the graph %s", (graph) => {
  it("has each effect once, wherever its process is killed", { timeout: 600_000 }, async () => {
    const unharmed = await ended(start(join(folder(), "agent.db"), await Server.start(), graph));
    const points = unharmed["points"] as number;
    expect(points).toBeGreaterThan(20);
    for (let at = 1 + (points % every); at <= points; at += every) {
      const server = await Server.start();
      const database = join(folder(), "agent.db");
      const where = `killed at point ${at} of ${points}`;
      expect(await attempt(database, server, graph, at, where)).toBeNull();
      // The second process is killed too, if it comes so far.
      const again = await attempt(database, server, graph, 1 + ((at * 7) % 24), `${where}, and again`);
      const output = again ?? (await attempt(database, server, graph, undefined, where));
      for (const name of names) {
        expect([...server.keys(name)], where).toHaveLength(1);
        // AgentOS loses the artifacts of branches.
        if (graph !== "parallel") expect(output![name]!.receipt, where).toContain(name);
      }
      expect(new Set(server.arrived.map(({ key }) => key)).size, where).toBe(2);
    }
  });
});

describe.each(names)("a process that is killed while the effect %s happens", (effect) => {
  /** Kills the process before it gets the answer. */
  async function killed(env: NodeJS.ProcessEnv) {
    const server = await Server.start();
    server.silent = effect;
    const database = join(folder(), "agent.db");
    const child = start(database, server, "line", env);
    await expect.poll(() => server.count(effect), { timeout: 30_000 }).toBe(1);
    expect(await child.kill()).toBe("SIGKILL");
    server.silent = undefined;
    const resumed = start(database, server, "line", env);
    const { effects } = await resumed.until(({ event }) => event === "start");
    expect(effects).toMatchObject({ [effect]: "unknown" });
    return { server, resumed };
  }

  it("repeats it with the same key in a write node", async () => {
    const { server, resumed } = await killed({});
    await ended(resumed);
    expect(server.count(effect)).toBe(2);
    expect(server.keys(effect).size).toBe(1);
  });

  it("asks in an external node", async () => {
    const { server, resumed } = await killed({ EFFECT_CLASS: "external" });
    await resumed.until(({ event }) => event === "end");
    expect(resumed.lines.find(({ event }) => event === "failed")).toMatchObject({
      outcome: effect === "pay" ? "error" : "failed",
      ...(effect === "pay" && { message: expect.stringContaining("may have happened") as unknown }),
    });
    expect(server.count(effect)).toBe(1);
  });
});
