/** Streams the hits of a search as lines of JSON. */

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { statuses } from "../../ts/inspect/runs.js";
import { sizeOf } from "./answers.js";
import { apiHeaders } from "./headers.js";
import type { Query } from "./query.js";
import { answerOf } from "./refusal.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { GrepLine } from "./grep-line.js";
import type { SearchProgress } from "../../ts/inspect/search-views.js";

/** The time between two lines of progress, in ms. */
const PULSE = 200;

/** The maximum size of a hit's path, in bytes. A longer path is left out. */
const LONGEST = 65_536;

/** Sends hits until the search ends, the client disconnects or the studio ends. A slow client pauses the search. */
export async function serveGrep(
  request: IncomingMessage,
  response: ServerResponse,
  inspector: Inspector,
  query: Query,
  closing: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  let progress: SearchProgress = { runs: 0, checkpoints: 0, hits: 0, unreadable: {}, damaged: 0 };
  let told = performance.now();
  const hits = inspector.search(query.needed("text"), {
    regex: query.flag("regex", false),
    ignoreCase: query.flag("ignoreCase", false),
    allSteps: query.flag("allSteps", false),
    space: query.filter("space"),
    run: query.filter("run"),
    ns: query.get("ns") ?? undefined,
    status: query.oneOf("status", statuses),
    label: query.labels("label"),
    limit: query.whole("limit", 1, Number.MAX_SAFE_INTEGER),
    signal,
    onProgress(now) {
      progress = now;
      if (performance.now() - told < PULSE) return;
      told = performance.now();
      response.write(textOf({ type: "progress", ...now }));
    },
  });
  // Without this header, nginx would buffer the lines.
  response.writeHead(200, { ...apiHeaders, "Content-Type": "application/x-ndjson", "X-Accel-Buffering": "no" });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  response.flushHeaders();
  try {
    for await (const hit of hits) {
      const line = { type: "hit", ...(sizeOf(hit.path) > LONGEST ? { ...hit, path: [] } : hit) } as const;
      if (!response.write(textOf(line))) await once(response, "drain", { signal });
    }
    response.write(textOf({ type: "done", ...progress }));
  } catch (error) {
    if (!signal.aborted) response.write(textOf({ type: "error", ...(JSON.parse(answerOf(error).body) as ErrorBody) }));
  } finally {
    response.end();
  }
}

type ErrorBody = Pick<Extract<GrepLine, { type: "error" }>, "error">;

const textOf = (line: GrepLine): string => `${JSON.stringify(line)}\n`;
