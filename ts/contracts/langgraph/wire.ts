/** Declares the engine's calls for LangGraph. See `engine/src/contract/langgraph/`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Unpack, type Unpacked } from "../../bridge/wire.js";

export type Header = Unpacked<engine.langgraph.FoundHeader>;
export type FoundWrite = Unpacked<engine.langgraph.FoundWrite>;
export type Found = Unpacked<engine.langgraph.Found>;
export type PagePosition = engine.langgraph.NextPage;
export type FoundPage = Unpacked<engine.langgraph.FoundPage>;
export type FoundThread = Unpacked<engine.langgraph.FoundThread>;

export type PutFields = engine.langgraph.Put;

export type WriteFields = Omit<engine.langgraph.PutWrites, "needs"> & { needs?: Needs };

/**
 * What must exist, or the writes are refused with `CONFLICT`: their checkpoint, or any checkpoint of the graph itself.
 * Undefined: nothing.
 */
export type Needs = Exclude<engine.langgraph.Needs, "namespace"> | undefined;

export type LanggraphCalls = CallsOf<engine.langgraph.Call, engine.langgraph.Responses>;

export const langgraph = new Contract<LanggraphCalls>("langgraph", {
  kinds: { put: "save", copy: "save", putWrites: "save", import: "save", deleteThread: "prune", delete: "prune" },
  subject: ({ checkpoint, remove, ...fields }) => {
    // All checkpoints of a removal belong to one namespace.
    const { threadId, namespace } = checkpoint ?? remove?.[0] ?? fields;
    return { run: threadId, ns: namespace, id: checkpoint?.id ?? fields.id };
  },
  counts: { delete: (_, { remove }) => remove.length, page: ({ found }) => found.length },
});

/**
 * The sort key of a checkpoint in its thread, as a text that compares like its bytes. It is the checkpoint's id. If the
 * clock has stepped back, it is the id of an earlier checkpoint, so that later saves sort later.
 */
export const sortKeyOf = ({ key, id }: Pick<Header, "key" | "id">): string => key ?? id;

export const openHeader: Unpack<engine.langgraph.FoundHeader> = (header, part) => ({
  ...header,
  metadata: part(header.metadata),
});

const openWrite: Unpack<engine.langgraph.FoundWrite> = (write, part) => ({ ...write, part: part(write.part) });

export const openFound: Unpack<engine.langgraph.Found> = ({ header, parts, writes, ...rest }, part) => ({
  ...rest,
  header: openHeader(header, part),
  parts: parts.map(part),
  writes: writes.map((write) => openWrite(write, part)),
});

export const openPage: Unpack<engine.langgraph.FoundPage> = ({ found, next }, part) => ({
  found: found.map((one) => openFound(one, part)),
  next,
});

export const openThread: Unpack<engine.langgraph.FoundThread> = (thread, part) => ({
  ...thread,
  latest: openHeader(thread.latest, part),
});

/** Makes the `Unpack` function of a list from that of its items. */
export function each<T, R>(unpack: Unpack<T, R>): Unpack<T[], R[]> {
  return (items, part) => items.map((item) => unpack(item, part));
}
