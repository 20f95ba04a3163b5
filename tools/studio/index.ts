/** The entry `forkpoint/studio`: the server of the page that shows a database. */

import "../../ts/bridge/bundled.js";
import { ForkpointError, isArray, quote, show, typeError } from "../../ts/bridge/errors.js";
import { openInspector, type Inspector } from "../../ts/inspect/index.js";
import { type OptionParser, flag, readRecord } from "../../ts/store/options.js";
import { makeHandler, type StudioRequest, type StudioResponse } from "./handler.js";
import type { Store } from "../../ts/store/store.js";

/** Options of {@link studioHandler}. */
export interface StudioHandlerOptions {
  /**
   * Decides whether a request may read or write, in place of the token of `npx forkpoint studio`. Called for each
   * request under `/api/`. Only `true` allows the request. A rejection counts as false.
   */
  authorize(request: StudioRequest): boolean | Promise<boolean>;
  /**
   * The allowed values of the header `Host`, with any non-default port. Other values are refused, as a protection
   * against DNS rebinding.
   */
  hosts: readonly string[];
  /** The path under which the studio is served, for example `"/studio"`. Default: `"/"`. */
  basePath?: string;
  /** Whether requests may fork and remove. Default: false. */
  write?: boolean;
}

/** Serves requests of `node:http`. */
export interface StudioHandler extends AsyncDisposable {
  (request: StudioRequest, response: StudioResponse): Promise<void>;
  /** Ends the streams of events. The store stays open. */
  close(): Promise<void>;
}

/** @internal */
export { type StartOptions, type Studio, startStudio } from "./start.js";

const isHost = (each: unknown) => typeof each === "string" && /^[^\s/@\\]+$/.test(each);

const parsers: { [K in keyof Required<StudioHandlerOptions>]: OptionParser<unknown> } = {
  authorize: (value, name) => {
    if (typeof value !== "function") throw typeError(`${name} must be a function, but is ${show(value)}`);
    return value;
  },
  hosts: (value, name) => {
    if (!isArray(value) || value.length === 0 || !value.every(isHost)) {
      throw typeError(`${name} must be a list of host names such as "tools.example.com" or "localhost:8080"`);
    }
    return value.map((each) => (each as string).toLowerCase());
  },
  basePath: (value, name) => {
    if (typeof value !== "string" || !/^(?:\/[\w.~-]+)*\/?$/.test(value)) {
      const given = typeof value === "string" ? quote(value) : show(value);
      throw typeError(`${name} must be a path such as "/studio", but is ${given}`);
    }
    return value.replace(/\/$/, "");
  },
  write: flag,
};

/** Returns true for an inspector. A store has no property `checkpoints`. */
function isInspector(value: object): value is Inspector {
  return "checkpoints" in value && typeof value.checkpoints === "function" && "watch" in value;
}

/**
 * Makes a handler that serves the studio from your own server.
 *
 * @param store an open store or inspector. The handler never closes it.
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
export function studioHandler(store: Store | Inspector, options: StudioHandlerOptions): StudioHandler {
  const given = readRecord(options, "options", parsers) as unknown as Partial<StudioHandlerOptions>;
  const { authorize, hosts, basePath = "", write = false } = given;
  if (authorize === undefined) throw typeError('option "authorize" is missing: a function that decides who may read');
  if (hosts === undefined) throw typeError('option "hosts" is missing: the values that the header Host may have');
  if (typeof store !== "object" || store === null) {
    throw typeError(`store must be an open store or inspector, but is ${show(store)}`);
  }
  const own = isInspector(store) ? undefined : openInspector(store, { write });
  // The first request reports the error.
  own?.catch(() => {});
  const closing = new AbortController();
  const inspector = async () => {
    if (closing.signal.aborted) throw new ForkpointError("CLOSED", "the studio is closed: make a new handler");
    return own ?? (store as Inspector);
  };
  const handler = makeHandler({
    inspector,
    gate: { hosts, schemes: ["http", "https"], authorize, write },
    base: basePath,
    token: false,
    closing: closing.signal,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closing.abort();
    closed ??= own === undefined ? Promise.resolve() : own.then((made) => made.close()).catch(() => {});
    return closed;
  };
  // The declarations contain only those parts of Node's requests and responses that users need.
  return Object.assign(handler as unknown as StudioHandler, { close, [Symbol.asyncDispose]: close });
}
export type { StudioRequestHeaders, StudioRequest, StudioResponse } from "./handler.js";
