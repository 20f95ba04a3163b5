// A process with the proxy between the sides and the server. It has a process of its own, so that its work is not
// counted as the event-loop time of a side.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startProxy } from "../../integration/postgres/proxy.mjs";

const file = fileURLToPath(import.meta.url);

/** Starts the proxy in front of a port. */
export async function startWire(port) {
  const child = fork(file, [String(port)], { execArgv: [] });
  const answer = async () => (await once(child, "message"))[0];
  const ask = (question) => {
    child.send(question);
    return answer();
  };
  const own = await answer();
  return {
    port: own,
    /** Sets the time that is added to each round trip, and counts from zero again. */
    reset: (delayMs) => ask({ delayMs }),
    /** What went over the wire since then: `{ roundTrips, sent, received }`. */
    counted: () => ask({}),
    async stop() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}

if (process.argv[1] === file) {
  const proxy = await startProxy(Number(process.argv[2]));
  process.on("message", ({ delayMs }) => {
    if (delayMs !== undefined) {
      proxy.setDelay(delayMs);
      proxy.reset();
    }
    process.send({ ...proxy.counted });
  });
  process.on("disconnect", () => process.exit());
  process.send(proxy.port);
}
