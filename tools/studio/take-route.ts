/** The route `take`: a run as a file. */

import type { IncomingMessage } from "node:http";
import type { Query } from "./query.js";
import { take } from "./take.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** Makes the file. A header has the number of values that each path has left out, for the page. */
export async function taken(
  inspector: Inspector,
  query: Query,
  request: IncomingMessage,
): Promise<{ headers: Record<string, string>; pieces: Iterable<string> }> {
  const format = query.oneOf("format", ["html", "json"]) ?? "html";
  const stop = new AbortController();
  // The client has disconnected.
  const close = () => stop.abort();
  request.socket.once("close", close);
  const { pieces, leftOut, damaged } = await take(inspector, query.run(), {
    format,
    last: query.whole("last", 1, 1_000_000),
    leaveOut: query.list("leaveOut"),
    signal: stop.signal,
  }).finally(() => request.socket.off("close", close));
  const headers = {
    // With this type, a browser that opens the address shows no page of this origin.
    "Content-Type": "application/octet-stream",
    "Content-Disposition": `attachment; filename="run.${format}"`,
    "Forkpoint-Left-Out": encodeURIComponent(JSON.stringify(leftOut)),
    "Forkpoint-Damaged": String(damaged),
  };
  return { headers, pieces };
}
