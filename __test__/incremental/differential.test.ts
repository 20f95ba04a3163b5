// Compares saves that use kept bytes with whole serialisations: many sessions in turn, lists in lists, saves in saves, and
// little memory to keep bytes in. FORKPOINT_FAULT_DIFFERENTIAL_MS sets how long each format is tried.
import { isDeepStrictEqual } from "node:util";
import { DefaultDeserializer, DefaultSerializer, deserialize, serialize } from "node:v8";
import { expect, it, onTestFinished } from "vitest";
import { amount, randomBelow, repeat, seed } from "../faults/faults.js";
import { Mutations, type State } from "./mutations.js";

/** Loads a module of the built package. */
const load = <T>(path: string): Promise<T> => import(new URL(`../../dist/inner/${path}.js`, import.meta.url).href);
const { whole } = await load<typeof import("../../ts/bridge/bytes.js")>("bridge/bytes");
const { keptBytes, limitKeptBytes } =
  await load<typeof import("../../ts/bridge/incremental/memory.js")>("bridge/incremental/memory");
const { ListWriter, readLists } = await load<typeof import("../../ts/bridge/incremental/list-format.js")>(
  "bridge/incremental/list-format",
);
const { JsonWriter } = await load<typeof import("../../ts/bridge/incremental/json.js")>("bridge/incremental/json");
const { toJsonForm } = await load<typeof import("../../ts/bridge/json-form/to-json-form.js")>(
  "bridge/json-form/to-json-form",
);
const { packMessages } = await load<typeof import("../../ts/contracts/helix/values.js")>("contracts/helix/values");
const { builtInFormat, formatOf } = await load<typeof import("../../ts/bridge/serializer.js")>("bridge/serializer");

const file = "__test__/incremental/differential.test.ts";
const variable = "FORKPOINT_FAULT_DIFFERENTIAL_MS";
const ms = amount(variable, 5_000);
const SESSIONS = 8;
/** A slow machine takes longer than that, to make at least so many saves from kept bytes. */
const LEAST = 200;
const LIMITS = [0, 100 << 10, 300 << 10, 1 << 20, 64 << 20];

/** Saves a state. Returns true if kept bytes were used. Throws if the bytes are those of another state. */
type Save = (state: State) => boolean;

function expectEqual(bytes: Uint8Array, other: Uint8Array): void {
  if (!Buffer.from(bytes).equals(other)) throw new Error("the bytes are those of another state");
}

const saves: Record<string, { scalars: unknown[]; save: Save }> = {
  "V8's format": { scalars: [undefined, 1n], save: clone() },
  JSON: { scalars: [undefined], save: json(new JsonWriter({ render: (item) => Buffer.from(JSON.stringify(item)) })) },
  "messages of Helix in V8's format": { scalars: [undefined, 1n], save: helix("v8") },
  "messages of Helix in JSON": { scalars: [undefined], save: helix("json") },
};

const formOf = (value: unknown) => Buffer.from(JSON.stringify(toJsonForm(value)));

function clone(): Save {
  const writer = new ListWriter(() => new DefaultSerializer());
  return (state) => {
    const bytes = writer.serialize(state);
    // The JSON form shows the order of keys, and what is shared.
    if (bytes !== undefined) expectEqual(formOf(readLists(new DefaultDeserializer(whole(bytes)))), formOf(state));
    return bytes !== undefined;
  };
}

function json(writer: InstanceType<typeof JsonWriter>): Save {
  return (state) => {
    const { messages, deep } = state.scratch;
    // A toJSON beside the lists saves the same lists.
    const saver = {
      toJSON() {
        return [{ messages }, deep].map((each) => writer.serialize(each) === undefined);
      },
    };
    const bytes = writer.serialize({ before: { saver }, ...state, after: { saver } });
    if (bytes !== undefined) {
      const inner = { saver: [true, true] };
      expectEqual(whole(bytes), Buffer.from(JSON.stringify({ before: inner, ...state, after: inner })));
    }
    return bytes !== undefined;
  };
}

function helix(name: "v8" | "json"): Save {
  const format = formatOf(name);
  return ({ scratch: { messages } }) => {
    const { tags, lengths, bytes } = packMessages(messages, "messages", format);
    if (tags.length !== messages.length || lengths.length !== messages.length) throw new Error("messages are missing");
    const packed = whole(bytes);
    let start = 0;
    for (const [at, message] of messages.entries()) {
      const item = packed.subarray(start, (start += lengths[at]!));
      // A message that is serialised alone uses no kept bytes.
      const alone = { ...message };
      if (name === "json") expectEqual(item, Buffer.from(JSON.stringify(alone)));
      else if (!isDeepStrictEqual(builtInFormat(tags[at]!)!.deserialize(item), deserialize(serialize(alone))))
        throw new Error(`message ${at} is another one`);
    }
    if (start !== packed.length) throw new Error("there are more bytes than messages");
    return !(bytes instanceof Uint8Array);
  };
}

it.each(Object.entries(saves))("%s", { timeout: ms + 60_000 }, (name, { scalars, save }) => {
  onTestFinished(() => limitKeptBytes());
  const below = randomBelow(seed);
  const mutations = new Mutations(seed, scalars);
  const states = Array.from({ length: SESSIONS }, () => mutations.state());
  const until = Date.now() + ms;
  let [all, incremental] = [0, 0];
  try {
    while (Date.now() < until || (incremental < LEAST && all < 100 * LEAST)) {
      if (all % 500 === 0) limitKeptBytes(LIMITS[below(LIMITS.length)]!);
      const at = below(SESSIONS);
      // What a state shares once, it often shares for good.
      if (below(40) === 0) states[at] = mutations.state();
      states[at] = mutations.mutate(states[at]!);
      all += 1;
      if (save(states[at])) incremental += 1;
      if (keptBytes() > 64 << 20) throw new Error("more is kept than may be");
    }
  } catch (error) {
    throw new Error(`save ${all} of ${name}: ${(error as Error).message}; ${repeat(file, variable)}`, { cause: error });
  }
  console.log(`${name}: seed ${seed}, ${all} saves, ${incremental} of them incremental`);
  expect(incremental, repeat(file, variable)).toBeGreaterThanOrEqual(LEAST);
});
