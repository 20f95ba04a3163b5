/** Serves new saves as a stream of server-sent events while a page is open. */

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { shortCheckpoint } from "./answers.js";
import { apiHeaders } from "./headers.js";
import { Query } from "./query.js";
import { answerOf } from "./refusal.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { StoreEvent } from "../../ts/inspect/watch.js";

/** The time between two comments, in ms. Proxies close idle connections. */
const PULSE = 15_000;

/** Sends new saves until the reader disconnects or the studio ends. */
export async function serveEvents(
  request: IncomingMessage,
  response: ServerResponse,
  inspector: Inspector,
  query: Query,
  closing: AbortSignal,
): Promise<void> {
  const last = request.headers["last-event-id"];
  const asked = typeof last === "string" ? new Query(new URLSearchParams({ since: last }).toString()) : query;
  const since = asked.whole("since", 0, Number.MAX_SAFE_INTEGER);
  // Without this header, nginx would buffer the events.
  response.writeHead(200, { ...apiHeaders, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, closing]);
  response.once("close", () => gone.abort());
  const filter = { space: query.filter("space"), run: query.get("run") ?? undefined };
  const events = inspector.watch({ ...filter, since, signal })[Symbol.asyncIterator]();
  // The watch must have its position before the client learns that the stream is open. Data that the client then
  // requests is newer than the position, so no save is missed.
  let next = events.next();
  next.catch(() => {});
  response.write(": open\n\n");
  const pulse = setInterval(() => response.write(": \n\n"), PULSE);
  try {
    for (let event = await next; event.done !== true && !signal.aborted; event = await next) {
      if (!response.write(textOf(event.value))) await once(response, "drain", { signal });
      next = events.next();
    }
  } catch (error) {
    if (!signal.aborted) response.write(`event: error\ndata: ${answerOf(error).body}\n\n`);
  } finally {
    clearInterval(pulse);
    response.end();
    await events.return?.();
  }
}

function textOf(event: StoreEvent): string {
  if (event.type === "changed") return `event: changed\ndata: ${JSON.stringify(event)}\n\n`;
  if (event.type === "effect") return `id: ${event.seq}\nevent: effect\ndata: ${JSON.stringify(event)}\n\n`;
  const data = JSON.stringify({ ...event, checkpoint: shortCheckpoint(event.checkpoint) });
  return `id: ${event.seq}\nevent: saved\ndata: ${data}\n\n`;
}
