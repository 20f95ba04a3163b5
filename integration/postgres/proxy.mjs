// A proxy between a client and a Postgres server. It counts what goes over the wire, delays it, and cuts connections.
import { connect, createServer } from "node:net";

/** A message of the protocol begins with its type, and its length without the type. The client's first ones have no type. */
class Messages {
  #rest = Buffer.alloc(0);
  #typed;

  constructor(typed) {
    this.#typed = typed;
  }

  /** Splits what has arrived into whole messages. */
  *read(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const head = this.#typed ? 5 : 4;
      if (this.#rest.length < head) return;
      const length = this.#rest.readInt32BE(head - 4) + head - 4;
      if (this.#rest.length < length) return;
      const bytes = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      const type = this.#typed ? String.fromCharCode(bytes[0]) : "start";
      // A request for encryption is answered by one letter, and followed by another first message.
      if (!this.#typed && bytes.readInt32BE(4) !== 80877103) this.#typed = true;
      yield { type, bytes };
    }
  }
}

/** Calls functions after a delay, in the order in which they came. */
class Delay {
  #waiting = [];
  #watching = false;

  constructor(ms) {
    this.ms = ms;
  }

  call(work) {
    if (this.ms === 0 && this.#waiting.length === 0) return work();
    this.#waiting.push({ due: performance.now() + this.ms, work });
    if (!this.#watching) this.#watch();
  }

  #watch() {
    while (this.#waiting.length > 0 && this.#waiting[0].due <= performance.now()) this.#waiting.shift().work();
    this.#watching = this.#waiting.length > 0;
    if (!this.#watching) return;
    const left = this.#waiting[0].due - performance.now();
    // A timer of Node counts whole milliseconds. For the last ones, this looks at the clock again and again, with short
    // pauses that leave the processor to others.
    if (left > 2) return void setTimeout(() => this.#watch(), left - 2);
    Atomics.wait(pause, 0, 0, 0.05);
    setImmediate(() => this.#watch());
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Starts a proxy on a free port.
 *
 * @param {number} port The port of the server.
 * @param {object} [options]
 * @param {number} [options.delayMs] The time that is added to each round trip.
 * @param {(message: { from: "client" | "server", type: string, bytes: Buffer, connection: number }) => "pass" | "cut" | "cut-after" | "stall" | void}
 *   [options.onMessage] Decides about each message. "cut" ends both connections before the message is sent, "cut-after" after it.
 *   "stall" passes nothing more in this direction.
 *   It reads plain connections only (`sslmode=disable`).
 */
export async function startProxy(port, { delayMs = 0, onMessage } = {}) {
  /** What went over the wire. A round trip is all that a client sends before it waits for the server. */
  const counted = { roundTrips: 0, sent: 0, received: 0, connections: 0 };
  const open = new Set();
  const delay = new Delay(delayMs / 2);
  const server = createServer((client) => {
    const connection = ++counted.connections;
    const upstream = connect(port, "127.0.0.1");
    open.add(client).add(upstream);
    let answered = true;
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    // Each direction passes its bytes in order, half a round trip later.
    const pass = (from, to, direction) => {
      const messages = new Messages(direction === "server");
      let ended;
      from.on("data", (chunk) => {
        if (ended !== undefined) return;
        counted[direction === "client" ? "sent" : "received"] += chunk.length;
        if (direction === "client" && answered) counted.roundTrips += 1;
        if (direction === "client") answered = false;
        const out = onMessage === undefined ? chunk : whole(messages.read(chunk));
        const send = () => {
          // A client that has much to say says it in pieces, and the server may answer the first one meanwhile.
          if (direction === "server") answered = true;
          if (!to.destroyed) to.write(out);
          if (ended === "cut" || ended === "cut-after") setImmediate(cut);
        };
        delay.call(send);
      });
      const whole = (arrived) => {
        const parts = [];
        for (const { type, bytes } of arrived) {
          const verdict = onMessage({ from: direction, type, bytes, connection }) ?? "pass";
          if (verdict !== "pass") ended = verdict;
          if (verdict === "pass" || verdict === "cut-after") parts.push(bytes);
          if (ended !== undefined) break;
        }
        return Buffer.concat(parts);
      };
      from.on("error", cut);
      from.on("close", () => {
        open.delete(from);
        // What was sent before the end arrives before the end.
        delay.call(cut);
      });
    };
    client.setNoDelay();
    upstream.setNoDelay();
    pass(client, upstream, "client");
    pass(upstream, client, "server");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    counted,
    /** Counts from zero again. */
    reset: () => Object.assign(counted, { roundTrips: 0, sent: 0, received: 0, connections: 0 }),
    /** Sets the time that is added to each round trip from now on. */
    setDelay(ms) {
      delay.ms = ms / 2;
    },
    /** Cuts all connections. */
    cutAll: () => open.forEach((socket) => socket.destroy()),
    stop: async () => {
      open.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
