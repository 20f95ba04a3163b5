/** The route `take`: a run as a file. */

import type { IncomingMessage } from "node:http";
import type { Query } from "./query.js";
import { take } from "./take.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** Makes the file. The header says how many values each path has left out, so that the page can say it. */
export async function taken(
  inspector: Inspector,
  query: Query,
  request: IncomingMessage,
): Promise<{ headers: Record<string, string>; pieces: Iterable<string> }> {
  const format = query.oneOf("format", ["html", "json"]) ?? "html";
  const stop = new AbortController();
  // Nobody waits for the file any more.
  const close = () => stop.abort();
  request.socket.once("close", close);
  const { pieces, leftOut, damaged } = await take(inspector, query.run(), {
    format,
    last: query.whole("last", 1, 1_000_000),
    leaveOut: query.list("leaveOut"),
    signal: stop.signal,
  }).finally(() => request.socket.off("close", close));
  const headers = {
    // A browser that is led here shows no page of this origin.
    "Content-Type": "application/octet-stream",
    "Content-Disposition": `attachment; filename="run.${format}"`,
    "Forkpoint-Left-Out": encodeURIComponent(JSON.stringify(leftOut)),
    "Forkpoint-Damaged": String(damaged),
  };
  return { headers, pieces };
}
