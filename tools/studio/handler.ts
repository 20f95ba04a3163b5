/** Makes the function that answers the requests of a studio. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { serveEvents } from "./events.js";
import { serveGrep } from "./grep.js";
import { files } from "./files.js";
import { type Gate, check } from "./gate.js";
import { apiHeaders, cacheControl, headers } from "./headers.js";
import { Query } from "./query.js";
import { Refusal, answerOf } from "./refusal.js";
import { isImport } from "./import-form.js";
import { importRuns } from "./import.js";
import { raw, routes } from "./routes.js";
import { taken } from "./take-route.js";
import { fieldsOf, writeRoutes } from "./writes.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The headers of a {@link StudioRequest}. */
export interface StudioRequestHeaders {
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly [name: string]: string | string[] | undefined;
}

/** A request: an `IncomingMessage` of `node:http`. These declarations need no types of Node.js. */
export interface StudioRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: StudioRequestHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The response to a request: a `ServerResponse` of `node:http`. */
export interface StudioResponse {
  writeHead(status: number): unknown;
  end(): unknown;
}

/** The options of a handler. */
export interface Served {
  inspector: () => Promise<Inspector>;
  gate: Gate;
  /** The base path, without a trailing slash. */
  base: string;
  /** Whether the page needs a token. */
  token: boolean;
  /** Aborts when the studio ends. */
  closing: AbortSignal;
}

const API = "/api/";

/** Makes the function that answers requests. It never rejects. */
export function makeHandler(served: Served): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { base, gate, closing } = served;
  // The page searches for a token only with this attribute.
  const page = files["/"]!.body.replace('data-access="token"', `data-access="${served.token ? "token" : "user"}"`);

  return async (request, response) => {
    const [path, query] = split(request.url ?? "");
    const isInside = path.startsWith(`${base}/`);
    const inner = isInside ? path.slice(base.length) : path;
    const isApi = isInside && inner.startsWith(API);
    try {
      await check(request, isApi, gate);
      if (isApi) await serveApi(inner.slice(API.length), new Query(query), request, response);
      else serveFile(isInside ? inner : undefined, path, request, response);
    } catch (error) {
      const { status, headers: more, body } = answerOf(error);
      send(request, response, status, { ...apiHeaders, ...more }, body);
    }
  };

  async function serveApi(name: string, query: Query, request: IncomingMessage, response: ServerResponse) {
    const route = /^v1\/(\w+)$/.exec(name)?.[1] ?? "";
    const isWrite = Object.hasOwn(writeRoutes, route) || isImport(name);
    const isRead = Object.hasOwn(routes, route) || ["raw", "take", "events", "grep"].includes(route);
    if (!isWrite && !isRead) throw notFound();
    if (isWrite !== (request.method === "POST")) {
      const Allow = isWrite ? "POST" : "GET, HEAD";
      throw new Refusal(405, "METHOD_NOT_ALLOWED", `this route accepts only ${Allow}`, { Allow });
    }
    const fields = isWrite && !isImport(name) ? await fieldsOf(request) : {};
    const inspector = await served.inspector();
    if (isImport(name)) {
      send(request, response, 200, apiHeaders, JSON.stringify(await importRuns(inspector, request, query)));
    } else if (isWrite) {
      const { status, body } = await writeRoutes[route]!(inspector, fields);
      send(request, response, status, apiHeaders, JSON.stringify(body));
    } else if (route === "events") {
      await serveEvents(request, response, inspector, query, closing);
    } else if (route === "grep") {
      await serveGrep(request, response, inspector, query, closing);
    } else if (route === "raw") {
      const type = { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" };
      await sendPieces(request, response, { ...apiHeaders, ...type }, await raw(inspector, query));
    } else if (route === "take") {
      const { headers: more, pieces } = await taken(inspector, query, request);
      await sendPieces(request, response, { ...apiHeaders, ...more }, pieces);
    } else {
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      send(request, response, 200, apiHeaders, JSON.stringify(await routes[route]!(inspector, query, gone.signal)));
    }
  }

  function serveFile(inner: string | undefined, path: string, request: IncomingMessage, response: ServerResponse) {
    if (request.method === "POST") {
      throw new Refusal(405, "METHOD_NOT_ALLOWED", "this route accepts only GET, HEAD", { Allow: "GET, HEAD" });
    }
    // Without the trailing slash, relative URLs in the page would be wrong.
    if (base !== "" && path === base) {
      send(request, response, 308, { ...headers, Location: `${base.slice(base.lastIndexOf("/") + 1)}/` }, "");
      return;
    }
    if (inner === undefined || !Object.hasOwn(files, inner)) throw notFound();
    const { type, body } = files[inner]!;
    const more = { "Content-Type": type, "Cache-Control": cacheControl(inner) };
    send(request, response, 200, { ...headers, ...more }, inner === "/" ? page : body);
  }
}

/** Sends a text in pieces, at the client's speed. */
async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  fields: Readonly<Record<string, string>>,
  pieces: Iterable<string>,
): Promise<void> {
  response.writeHead(200, fields);
  if (request.method === "HEAD") response.end();
  else await pipeline(Readable.from(batches(pieces)), response);
}

function* batches(pieces: Iterable<string>): Generator<string> {
  let batch = "";
  for (const piece of pieces) {
    batch += piece;
    if (batch.length < 2 ** 16) continue;
    yield batch;
    batch = "";
  }
  yield batch;
}

const notFound = () => new Refusal(404, "NOT_FOUND", "there is no such route");

/** Splits the target of a request. Decodes nothing, so that each path has only one spelling. */
function split(url: string): [path: string, query: string] {
  const at = url.indexOf("?");
  return at === -1 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  fields: Readonly<Record<string, string>>,
  body: string,
): void {
  // The headers were already sent, so the status can no longer change.
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...fields, "Content-Length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}
