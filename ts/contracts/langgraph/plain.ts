/** A saver that reads checkpoints as plain JSON, for tools. It creates no objects of LangChain's classes. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError } from "../../bridge/errors.js";
import type { Context } from "../../plugin/context.js";
import { readValue } from "../../plugin/values.js";
import type { SaverContext } from "./tuples.js";

const plain: SerializerProtocol = {
  dumpsTyped() {
    throw new Error("the inspector does not write LangGraph values through a serializer");
  },
  loadsTyped(tag, bytes) {
    const read = readValue(
      { formats: new Map() },
      { tag, bytes: typeof bytes === "string" ? Buffer.from(bytes) : bytes },
    );
    if (!read.readable)
      throw new ForkpointError(
        "UNSUPPORTED",
        `the serializer "${tag}" is not registered, so its values cannot be read`,
      );
    return read.value;
  },
} as SerializerProtocol;

/** Returns the parts of a saver that a read uses. */
export function saverOf({ engine }: Context): SaverContext {
  return { native: engine.native, serde: plain } as SaverContext;
}
