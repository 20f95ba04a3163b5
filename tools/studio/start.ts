/** Starts a standalone studio, on this machine and for one user. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ForkpointError, messageOf } from "../../ts/bridge/errors.js";
import { bearer } from "./gate.js";
import { makeHandler } from "./handler.js";
import { warmUp } from "./warm.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The only address on which a studio listens. */
const ADDRESS = "127.0.0.1";

/** The maximum size of the URL and headers of a request, in bytes. A URL may contain five escaped ids of 4 KiB. */
const MAX_HEADERS = 2 ** 17;

/** A running studio. */
export interface Studio {
  /** The address of the page, with the token. */
  url: string;
  port: number;
  /** Ends all connections. The inspector stays open. */
  close(): Promise<void>;
}

/** How to start a studio. */
export interface StartOptions {
  /** 0: any port. */
  port: number;
  /** Whether it may fork and remove. */
  write: boolean;
  /** Whether the user chose the port. Otherwise, if it is taken, the studio uses another port. */
  portWasSaid: boolean;
}

/**
 * Serves the studio on this machine. Requests need the token.
 * @throws ForkpointError `UNAVAILABLE` if the port is taken or can't be used.
 */
export async function startStudio(
  inspector: Inspector,
  { port: asked, write, portWasSaid }: StartOptions,
): Promise<Studio> {
  const token = randomBytes(32).toString("base64url");
  const server = createServer({ maxHeaderSize: MAX_HEADERS });
  const port = await listen(server, asked, portWasSaid);
  const closing = new AbortController();
  const handler = makeHandler({
    inspector: () => Promise.resolve(inspector),
    gate: { hosts: hostsOf(port), schemes: ["http"], authorize: bearer(token), write },
    base: "",
    token: true,
    closing: closing.signal,
  });
  let lastRequest = 0;
  server.on("request", (request, response) => {
    lastRequest = performance.now();
    void handler(request, response);
  });
  // If this fails, the first request is slower, or reports the error.
  warmUp(inspector, () => lastRequest, closing.signal).catch(() => {});
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      closing.abort();
      const end = once(server, "close");
      server.close();
      server.closeAllConnections();
      await end;
    })();
    return closed;
  };
  return { url: `http://${ADDRESS}:${port}/#token=${token}`, port, close };
}

/** The values of `Host` that a browser may send. Browsers omit port 80. */
function hostsOf(port: number): string[] {
  const names = [ADDRESS, "localhost"];
  return port === 80 ? [...names, ...names.map((name) => `${name}:80`)] : names.map((name) => `${name}:${port}`);
}

async function listen(server: Server, port: number, portWasSaid: boolean): Promise<number> {
  try {
    server.listen({ host: ADDRESS, port, exclusive: true });
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    if (!portWasSaid && port !== 0) return listen(server, 0, true);
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? `port ${port} is taken` : `port ${port} can't be used: ${messageOf(error)}`;
    throw new ForkpointError("UNAVAILABLE", `${why}. Choose another port with --port, or any free port with --port 0`, {
      cause: error,
    });
  }
}
