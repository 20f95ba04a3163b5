/** Decides whether a request may be answered, before any of its content is used. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isImport } from "./import-form.js";
import { Refusal, forbidden } from "./refusal.js";

/** The largest body of a POST request, in bytes. */
export const MAX_BODY = 16 * 2 ** 20;

/** The rules by which a studio accepts requests. */
export interface Gate {
  /** The allowed values of `Host`, in lower case. */
  hosts: readonly string[];
  /** The allowed schemes of `Origin`. */
  schemes: readonly string[];
  authorize: (request: IncomingMessage) => boolean | Promise<boolean>;
  /** Whether requests may write. */
  write: boolean;
}

/**
 * Throws if the request may not be routed. These checks come first, so that a request from another site, or without
 * authorization, gets the same answer for every route.
 */
export async function check(request: IncomingMessage, isApi: boolean, gate: Gate): Promise<void> {
  const { host } = request.headers;
  const { origin, "sec-fetch-site": site } = request.headers;
  // Refuse two Host headers: Node ignores the second one, but a proxy may read it.
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

function checkMethod({ method, headers, url = "" }: IncomingMessage, { write }: Gate): void {
  if (method === "GET" || method === "HEAD") return;
  if (method !== "POST") {
    throw new Refusal(405, "METHOD_NOT_ALLOWED", `the method ${method} is not allowed`, { Allow: "GET, HEAD, POST" });
  }
  if (!write) {
    throw new Refusal(403, "READ_ONLY", "this studio is read-only: start it with --write to change data");
  }
  // Files are sent unencoded. Their size is checked during the read.
  if (isImport(/\/api\/([^?]*)/.exec(url)?.[1] ?? "") && headers["content-type"] === "application/octet-stream") return;
  if (!/^application\/json(?:\s*;|$)/i.test(headers["content-type"]?.trim() ?? "")) {
    throw new Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body of a POST request must be application/json");
  }
  if (Number(headers["content-length"] ?? 0) > MAX_BODY) throw tooLarge();
}

/** Refuses a body that is too large. Closes the connection, because the rest of the body stays unread. */
export function tooLarge(): Refusal {
  const message = `the body is larger than ${MAX_BODY / 2 ** 20} MiB: edit a smaller part of the state, with "set"`;
  return new Refusal(413, "TOO_LARGE", message, { Connection: "close" });
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Makes a check of `Authorization: Bearer <token>` in constant time for wrong tokens. */
export function bearer(token: string): (request: IncomingMessage) => boolean {
  const expected = digest(`Bearer ${token}`);
  return ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ""), expected);
}
