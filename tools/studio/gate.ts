/** Decides whether a request may be answered, before anything of it is used. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Refusal, forbidden } from "./refusal.js";

/** The largest body of a POST request, in bytes. */
export const MAX_BODY = 16 * 2 ** 20;

/** The rules by which a studio accepts requests. */
export interface Gate {
  /** The values that `Host` may have, in small letters. */
  hosts: readonly string[];
  /** The schemes that `Origin` may have. */
  schemes: readonly string[];
  authorize: (request: IncomingMessage) => boolean | Promise<boolean>;
  /** Whether requests may write. */
  write: boolean;
}

/**
 * Throws unless the request may be routed. A request that comes from another site, or without the right to ask, gets the
 * same answer whatever it asks for, so these checks come before everything else.
 */
export async function check(request: IncomingMessage, isApi: boolean, gate: Gate): Promise<void> {
  const { host } = request.headers;
  const { origin, "sec-fetch-site": site } = request.headers;
  // Node drops a second Host. A proxy in between may read the second one, so two of them are refused.
  if (host === undefined || request.headersDistinct["host"]?.length !== 1) throw forbidden();
  if (!gate.hosts.includes(host.toLowerCase())) throw forbidden();
  if (origin !== undefined && !gate.schemes.some((scheme) => origin === `${scheme}://${host}`)) throw forbidden();
  if (isApi) {
    if (site !== undefined && site !== "same-origin" && site !== "none") throw forbidden();
    if (!(await isAuthorized(request, gate))) throw forbidden();
  }
  if (request.method === "OPTIONS") throw forbidden();
  checkMethod(request, gate);
}

async function isAuthorized(request: IncomingMessage, { authorize }: Gate): Promise<boolean> {
  try {
    return (await authorize(request)) === true;
  } catch {
    return false;
  }
}

function checkMethod({ method, headers }: IncomingMessage, { write }: Gate): void {
  if (method === "GET" || method === "HEAD") return;
  if (method !== "POST") {
    throw new Refusal(405, "METHOD_NOT_ALLOWED", `the studio does not answer ${method}`, { Allow: "GET, HEAD, POST" });
  }
  if (!write) {
    throw new Refusal(403, "READ_ONLY", "this studio only reads: start it with --write to fork and remove");
  }
  if (!/^application\/json(?:\s*;|$)/i.test(headers["content-type"]?.trim() ?? "")) {
    throw new Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body of a POST request must be application/json");
  }
  if (Number(headers["content-length"] ?? 0) > MAX_BODY) throw tooLarge();
}

/** The refusal of a body that is too large. The connection ends, because the rest of the body is not read. */
export function tooLarge(): Refusal {
  const message = `the body is larger than ${MAX_BODY / 2 ** 20} MiB: edit less of the state at once, with "set"`;
  return new Refusal(413, "TOO_LARGE", message, { Connection: "close" });
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Makes a check of `Authorization: Bearer <token>` that takes the same time for every wrong token. */
export function bearer(token: string): (request: IncomingMessage) => boolean {
  const expected = digest(`Bearer ${token}`);
  return ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ""), expected);
}
