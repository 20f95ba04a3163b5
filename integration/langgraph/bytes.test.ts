// Tests that the bytes and values of a caller stay the caller's: they may change as soon as a call has returned its promise.
// `__test__/changed.test.ts` tests the same for the other frameworks.
import { Annotation, interrupt } from "@langchain/langgraph";
import { openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointCache, ForkpointSaver, ForkpointStore } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { KEPT, change, expectKept } from "../../__test__/changed.js";
import { checkpoint, kinds, metadata, place, rejection, saver, sequence, thread } from "./helpers.js";

const versions = { data: 1, more: 1 };
const holding = (data: unknown, more: unknown = "more") =>
  checkpoint({ channel_values: { data, more }, channel_versions: versions });

describe.each(kinds)("on %s", (kind) => {
  it.each([
    ["a Uint8Array", () => Uint8Array.of(1, 2, 3)],
    ["a Buffer", () => Buffer.from([1, 2, 3])],
  ])("%s is stored as it was when it was put", async (_, make) => {
    const checkpointer = saver(kind);
    const [value, write] = [make(), make()];
    const put = checkpointer.put(thread(), holding(value), metadata(), versions);
    value.fill(9);
    const config = await put;
    const wrote = checkpointer.putWrites(config, [["data", write]], "task");
    write.fill(9);
    await wrote;
    const tuple = (await checkpointer.getTuple(thread()))!;
    expect(tuple.checkpoint.channel_values["data"]).toEqual(Uint8Array.of(1, 2, 3));
    expect(tuple.pendingWrites![0]![2]).toEqual(Uint8Array.of(1, 2, 3));
  });

  it("values, metadata and versions are stored as they were, also those of a second put", async () => {
    const checkpointer = saver(kind);
    const value = () => ({ text: KEPT, list: [1, { deep: KEPT }] });
    const args = () => [thread(), holding(value(), value()), metadata({ mine: value() }), { ...versions }] as const;
    const [first, second] = [args(), args()];
    const puts = [checkpointer.put(...first), checkpointer.put(...second)];
    change([first, second]);
    const [, config] = await Promise.all(puts);
    const writes = [JSON.parse(JSON.stringify(config)), [["data", value()]], "task"] as [any, any, string];
    const wrote = checkpointer.putWrites(...writes);
    change(writes);
    await wrote;
    const { checkpoint: read, metadata: made, pendingWrites } = (await checkpointer.getTuple(thread()))!;
    expectKept(read.channel_values);
    expectKept(made);
    expectKept(pendingWrites);
    const filter = { mine: value() };
    const listed = checkpointer.listThreads({ filter });
    change(filter);
    expect((await listed).threads).toHaveLength(1);
  });

  it("an inspector's answer is stored as it was", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const inspector = await openInspector(store, { write: true });
    const State = Annotation.Root({ answer: Annotation<unknown>() });
    const checkpointer = new ForkpointSaver(store);
    const graph = sequence(State, { ask: () => ({ answer: interrupt("ok?") }) }).compile({ checkpointer });
    await graph.invoke({}, thread());
    const answer = { value: { text: KEPT, list: [1] }, by: KEPT };
    const run = { space: "langgraph", run: "thread" };
    const answered = inspector.answer(run, answer);
    change(answer);
    await answered;
    expectKept(await inspector.questions(run));
    expectKept(await graph.invoke(null, thread()));
  });

  it("the items of a store are stored as they were, and searched with the filter as it was", async () => {
    const store = new ForkpointStore(place(kind));
    onTestFinished(() => store.close());
    const put = { namespace: ["users"], key: "a", value: { text: KEPT, deep: [{ text: KEPT }] } };
    const batches = [store.batch([put]), store.put(put.namespace, "b", put.value)];
    change(put);
    await Promise.all(batches);
    const filter = { deep: [{ text: KEPT }] };
    const searched = store.search(["users"], { filter });
    change(filter);
    const found = await searched;
    expect(found).toHaveLength(2);
    expectKept(found);
  });

  it("a cached value is stored as it was when it was set", async () => {
    const cache = new ForkpointCache(place(kind));
    onTestFinished(() => cache.close());
    const value = Uint8Array.of(1, 2, 3);
    const set = cache.set([{ key: [["ns"], "key"], value }]);
    value.fill(9);
    await set;
    expect((await cache.get([[["ns"], "key"]]))[0]!.value).toEqual(Uint8Array.of(1, 2, 3));
  });

  it("what was serialized before the parent was found to be gone is stored as it was", async () => {
    const checkpointer = saver(kind);
    const parent = await checkpointer.put(thread(), holding({ at: 1 }), metadata(), versions);
    await checkpointer.deleteThread("thread");
    const changed = { at: 2 };
    const put = checkpointer.put(parent, holding(changed), metadata(), { data: 1 });
    changed.at = 9;
    await put;
    const values = (await checkpointer.getTuple(thread()))!.checkpoint.channel_values;
    expect(values).toEqual({ data: { at: 2 }, more: "more" });
  });

  it("a serializer that uses its buffer again at once is copied, and one that promises it is refused", async () => {
    class Reusing {
      readonly scratch = Buffer.alloc(10_000);
      readonly #promises: boolean;
      constructor(promises: boolean) {
        this.#promises = promises;
      }
      dumpsTyped(value: unknown): never {
        const length = this.scratch.write(JSON.stringify(value));
        const typed = ["json", this.scratch.subarray(0, length)];
        return (this.#promises ? Promise.resolve(typed) : typed) as never;
      }
      async loadsTyped(_: string, bytes: Uint8Array | string): Promise<any> {
        return JSON.parse(Buffer.from(bytes as Uint8Array).toString());
      }
    }
    const checkpointer = saver(kind, { serde: new Reusing(false) });
    await checkpointer.put(thread(), holding("one", "two"), metadata({ three: 3 }), versions);
    const { checkpoint: read, metadata: made } = (await checkpointer.getTuple(thread()))!;
    expect(read.channel_values).toEqual({ data: "one", more: "two" });
    expect(made).toMatchObject({ three: 3 });
    const promising = saver(kind, { serde: new Reusing(true) });
    const error = await rejection(promising.put(thread("t"), holding("one", "two"), metadata(), versions));
    expect(error.message).toContain("serde.dumpsTyped() must return new bytes for each value");
    expect(await promising.getTuple(thread("t"))).toBeUndefined();
  });
});
