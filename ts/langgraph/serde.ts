import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError } from "../errors.js";
import type { Serialized } from "../serializer.js";
import { toJson } from "./json.js";

const decoder = new TextDecoder();

/** Serialises a value, before anything else runs; `what` names it in messages. */
export async function dump(serde: SerializerProtocol, value: unknown, what: string): Promise<Serialized> {
  const json = isJsonPlus(serde) ? toJson(value, serde) : undefined;
  if (json !== undefined) return { tag: "json", bytes: json };
  const [tag, bytes] = await serde.dumpsTyped(value);
  // What LangGraph's serializer writes in place of a value that it cannot hold: a BigInt somewhere in it, for one.
  if (typeof value !== "string" && tag === "json" && Buffer.from(bytes.subarray(0, 24)).toString() === '"[unable to serialize, c') {
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `${what} cannot be stored: the serializer cannot hold a value in it (a BigInt, for one). Replace it by data that JSON ` +
        "has, or pass a serde of your own",
    );
  }
  return { tag, bytes };
}

/** Makes a value of bytes. */
export async function load(serde: SerializerProtocol, { tag, bytes }: Serialized): Promise<any> {
  if (tag === "json" && isJsonPlus(serde)) {
    const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Without these marks the serializer would give back what JSON has, object by object. (The second is the beginning of
    // "__proto__"; a longer one is looked for several times slower.)
    if (!json.includes('"lc":') && !json.includes('"__p')) return JSON.parse(decoder.decode(json));
  }
  // The serializer of LangGraph gives the bytes themselves to whoever wrote bytes: these were no Buffer.
  // And they share their memory with no other part.
  return serde.loadsTyped(tag, new Uint8Array(bytes));
}

/** LangGraph's own serializers, as far as they write plain data as JSON: those that turned out to. */
const jsonPlus = new WeakMap<SerializerProtocol, boolean>();

/** Tells that a serializer is the one that LangGraph made, not a user's. */
export function trust(serde: SerializerProtocol): void {
  jsonPlus.set(serde, false);
  void probe(serde).then((same) => jsonPlus.set(serde, same));
}

/** Whether plain data may go past a serializer: the bytes are the same ones, in a fraction of the time. */
function isJsonPlus(serde: SerializerProtocol): boolean {
  return jsonPlus.get(serde) ?? false;
}

/** A later version of LangGraph may write otherwise: then all goes through its serializer. */
async function probe(serde: SerializerProtocol): Promise<boolean> {
  const plain = { text: 'é"\ud800\n', list: [1, -0, 1e300, Number.NaN, null, true, [], {}], nested: { "": { lg_name: "sent" } } };
  try {
    const [tag, bytes] = await serde.dumpsTyped(plain);
    const json = JSON.stringify(plain);
    const read: unknown = await serde.loadsTyped("json", new TextEncoder().encode(json));
    return tag === "json" && Buffer.from(bytes).toString() === json && JSON.stringify(read) === json;
  } catch {
    return false;
  }
}
