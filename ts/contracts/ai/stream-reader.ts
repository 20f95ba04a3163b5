/** A reader of a stream that any process makes. */

import { ForkpointError, quote } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { LOOK, type Note, PAGE, PAUSE, hasMaker, isOver, noteOf, readStream } from "./stream-store.js";

/** The time from the last text to an error, in ms. Streams drop text on its way when they get an error. */
const UNDERWAY = 200;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Reads a stream from a character on. Ends when the stream has ended or was stopped. Fails when its source has failed,
 * or when its maker has disappeared.
 */
export function readerOf(handle: StoreHandle, stream: string, skip: number): ReadableStream<string> {
  let [at, left, looked, isMade, hasLeft, given] = [0, skip, 0, true, false, 0];
  /** Reads new text. Undefined: the stream has ended. */
  const next = () =>
    handle.run(async (engine) => {
      if (performance.now() - looked >= LOOK) {
        isMade = await hasMaker(engine, stream);
        looked = performance.now();
      }
      const found = await readStream(engine, stream, at, PAGE);
      at += found?.texts.length ?? 0;
      if (found === null) return undefined;
      if (found.texts.length > 0) return found.texts.join("");
      if (found.head.state === "failed") throw hasFailed(stream, noteOf(found.head, engine));
      if (isOver(found.head)) return undefined;
      if (!isMade) throw wasInterrupted(stream);
      return "";
    });
  return new ReadableStream<string>({
    cancel: () => {
      hasLeft = true;
    },
    async pull(controller) {
      try {
        for (let text = await next(); ; text = await next()) {
          if (hasLeft) return;
          if (text === undefined) return controller.close();
          const fresh = text.slice(left);
          left = Math.max(0, left - text.length);
          if (fresh !== "") {
            given = performance.now();
            return controller.enqueue(fresh);
          }
          if (hasLeft) return;
          if (text === "") await pause(PAUSE);
        }
      } catch (error) {
        await pause(given + UNDERWAY - performance.now());
        throw error;
      }
    },
  });
}

function hasFailed(stream: string, { failure = { name: "Error", message: "" } }: Note): ForkpointError {
  const { name, message } = failure;
  const cause = Object.assign(new Error(message), { name });
  return new ForkpointError(
    "UNAVAILABLE",
    `stream ${quote(stream)} has failed: its source threw the cause of this error`,
    {
      retryable: false,
      cause,
    },
  );
}

function wasInterrupted(stream: string): ForkpointError {
  const message = `stream ${quote(stream)} was interrupted: its process has ended, or does not answer. stop() saves the answer so far`;
  return new ForkpointError("UNAVAILABLE", message, { retryable: false });
}
