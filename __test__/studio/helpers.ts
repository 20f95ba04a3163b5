import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request as httpRequest } from "node:http";
import { type Store, CheckpointStore } from "forkpoint";
import { type Inspector, openInspector } from "forkpoint/inspect";
import * as studioModule from "forkpoint/studio";
import { onTestFinished } from "vitest";
import { opened } from "../contents.js";
import { checkpoint } from "../helpers.js";

/** What the command `forkpoint studio` uses. It is no part of the package's interface. */
const { startStudio } = studioModule as unknown as {
  startStudio(
    inspector: Inspector,
    options: { port: number; write: boolean; portWasSaid: boolean },
  ): Promise<{ url: string; port: number; write: boolean; close(): Promise<void> }>;
};

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

/** Sends a request with exactly these headers. */
export function ask(port: number, path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const own = { host: `127.0.0.1:${port}`, connection: "close", ...headers };
    const request = httpRequest({ host: "127.0.0.1", port, path, method, headers: own, setHost: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

export interface Running {
  store: Store;
  inspector: Inspector;
  port: number;
  url: string;
  token: string;
  bearer: { authorization: string };
  close(): Promise<void>;
  /** Asks a route with the token and returns its JSON. */
  get<T = any>(route: string, parameters?: Record<string, string | number>): Promise<T>;
  /** Asks a route with the token and returns the answer. */
  ask(route: string, asked?: Asked): Promise<Answer>;
  post(route: string, body: unknown): Promise<Answer>;
}

/** Starts a studio over a store, for the running test. */
export async function start(store: Store | string = "memory:", { write = true } = {}): Promise<Running> {
  const own = typeof store === "string" ? await opened(store) : store;
  const inspector = await openInspector(own, { write });
  const studio = await startStudio(inspector, { port: 0, write, portWasSaid: false });
  onTestFinished(async () => {
    await studio.close();
    await inspector.close();
  });
  const { url, port, close } = studio;
  const token = url.slice(url.indexOf("#token=") + 7);
  const bearer = { authorization: `Bearer ${token}` };
  const askRoute = (route: string, asked: Asked = {}) =>
    ask(port, `/api/v1/${route}`, { ...asked, headers: { ...bearer, ...asked.headers } });
  return {
    store: own,
    inspector,
    port,
    url,
    token,
    bearer,
    close,
    ask: askRoute,
    async get(route, parameters = {}) {
      const query = new URLSearchParams(parameters as Record<string, string>);
      const { status, text } = await askRoute(`${route}?${query}`);
      if (status !== 200) throw new Error(`${route}: ${status} ${text}`);
      return JSON.parse(text);
    },
    post: (route, body) =>
      askRoute(route, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}

export { startStudio };

/** Returns the error that an answer has. */
export const errorOf = ({ status, text }: Answer) => ({ status, ...JSON.parse(text).error });

/** Saves a run of AgentOS whose states are given. */
export async function saveRun(store: Store, runId: string, scratches: unknown[]): Promise<string[]> {
  const graphs = new CheckpointStore(store);
  const ids: string[] = [];
  for (const [step, scratch] of scratches.entries()) {
    const id = `${runId}-${step}`;
    const state = { ...checkpoint().state, scratch };
    await graphs.save(checkpoint({ id, runId, nodeId: `node-${step}`, timestamp: step, state }));
    ids.push(id);
  }
  return ids;
}
