/** The entry `forkpoint/studio`: the server of the page that shows a database. */

import "../../ts/bridge/bundled.js";
import type { Inspector } from "../../inspect.js";
import type { StudioHandler, StudioHandlerOptions, studioHandler as studioHandlerContract } from "../../studio.js";
import { ForkpointError, isArray, quote, show, typeError } from "../../ts/bridge/errors.js";
import { openInspector } from "../../ts/inspect/index.js";
import { type OptionParser, flag, readRecord } from "../../ts/store/options.js";
import { makeHandler } from "./handler.js";

export { startStudio } from "./start.js";
export type { StartOptions, Studio } from "./start.js";

const isHost = (each: unknown) => typeof each === "string" && /^[^\s/@\\]+$/.test(each);

const parsers: { [K in keyof Required<StudioHandlerOptions>]: OptionParser<unknown> } = {
  authorize: (value, name) => {
    if (typeof value !== "function") throw typeError(`${name} must be a function, and is ${show(value)}`);
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
      throw typeError(`${name} must be a path such as "/studio", and is ${given}`);
    }
    return value.replace(/\/$/, "");
  },
  write: flag,
};

/** Returns true for an inspector. A store has no `checkpoints`. */
function isInspector(value: object): value is Inspector {
  return "checkpoints" in value && typeof value.checkpoints === "function" && "watch" in value;
}

export const studioHandler: typeof studioHandlerContract = (store, options) => {
  const given = readRecord(options, "options", parsers) as unknown as Partial<StudioHandlerOptions>;
  const { authorize, hosts, basePath = "", write = false } = given;
  if (authorize === undefined) throw typeError('option "authorize" is missing: a function that decides who may read');
  if (hosts === undefined) throw typeError('option "hosts" is missing: the values that the header Host may have');
  if (typeof store !== "object" || store === null) {
    throw typeError(`store must be an open store or inspector, and is ${show(store)}`);
  }
  const own = isInspector(store) ? undefined : openInspector(store, { write });
  // The first request gets the error.
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
  // The declarations name only what a user may need of Node's requests and responses.
  return Object.assign(handler as unknown as StudioHandler, { close, [Symbol.asyncDispose]: close });
};
