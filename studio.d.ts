/** The studio: a page that shows what is in a store. `npx forkpoint studio` serves it on this machine. */

import type { Inspector } from "./inspect.js";
import type { Store } from "./index.js";

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

/** Options of {@link studioHandler}. */
export interface StudioHandlerOptions {
  /**
   * Decides whether a request may read, or write: it takes the place of the token of `npx forkpoint studio`. It is called
   * for each request under `/api/`. A rejection counts as false.
   */
  authorize(request: StudioRequest): boolean | Promise<boolean>;
  /**
   * The values that the header `Host` may have, with the port unless it is the default one. Any other is refused, so that
   * no other site can reach the studio under a name of its own.
   */
  hosts: readonly string[];
  /** The path under which the studio is served, for example `"/studio"`. Default: `"/"`. */
  basePath?: string;
  /** Whether the studio may fork and remove. Default: false. */
  write?: boolean;
}

/** Serves requests of `node:http`. */
export interface StudioHandler extends AsyncDisposable {
  (request: StudioRequest, response: StudioResponse): Promise<void>;
  /** Ends the streams of events. The store stays open. */
  close(): Promise<void>;
}

/**
 * Makes a handler that serves the studio from your own server.
 *
 * @param store an open store or inspector. It stays yours: the handler never closes it.
 * @throws TypeError for a wrong option.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { openStore } from "forkpoint";
 * import { studioHandler } from "forkpoint/studio";
 *
 * const studio = studioHandler(await openStore("agent.db"), {
 *   hosts: ["tools.example.com"],
 *   basePath: "/studio",
 *   authorize: (request) => request.headers["x-user"] === "admin",
 * });
 * createServer((request, response) => void studio(request, response)).listen(8080);
 * ```
 */
export function studioHandler(store: Store | Inspector, options: StudioHandlerOptions): StudioHandler;
