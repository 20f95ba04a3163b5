// The resumable streams of assistant-stream, with the real package: its context over our store and over its own one.
import { createInMemoryResumableStreamStore, createResumableStreamContext } from "assistant-stream/resumable";
import { ForkpointResumableStreamStore } from "forkpoint/ai";
import { describe, expect, it } from "vitest";
import { checkedAfter, failure, kinds, pairOf, wrongType } from "../../__test__/helpers.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const storeAt = (target: any) => checkedAfter(new ForkpointResumableStreamStore(target));

async function all(stream: ReadableStream<Uint8Array> | null): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream!) parts.push(part);
  return Buffer.concat(parts).toString();
}

const source = (...texts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(bytes(text));
      controller.close();
    },
  });

describe.each(kinds)("assistant-stream on %s", (kind) => {
  it("makes a stream once, and gives all of it to each caller, in any process", async () => {
    const [mine, other] = (await pairOf(kind, storeAt)).map((store) =>
      createResumableStreamContext({ store }),
    ) as any[];
    expect(await all(await mine.run("s", () => source("é🙂", "two", "\u0000\n")))).toBe("é🙂two\u0000\n");
    const never = () => {
      throw new Error("made twice");
    };
    expect(await all(await other.run("s", never))).toBe("é🙂two\u0000\n");
    expect(await all(await other.resume("s"))).toBe("é🙂two\u0000\n");
    expect(await other.status("s")).toBe("done");
    expect(await other.resume("none")).toBeNull();
    await other.delete("s");
    expect(await mine.status("s")).toBe("missing");
    expect(await all(await mine.run("s", () => source("again")))).toBe("again");
  });

  it("does what the package's own store does", async () => {
    const [store] = await pairOf(kind, storeAt);
    const theirs = createInMemoryResumableStreamStore();
    for (const one of [store, theirs]) {
      expect(await one.acquire("s")).toBe("producer");
      expect(await one.acquire("s")).toBe("consumer");
      expect(await one.status("s")).toBe("streaming");
      const chunk = Uint8Array.of(0, 255, 128);
      const stored = one.append("s", chunk);
      chunk.fill(7);
      await stored;
      const signal = new AbortController();
      const reading = one.read("s", "", signal.signal);
      const entry = (await (reading as AsyncGenerator<any>).next()).value;
      expect([...entry.chunk]).toEqual([0, 255, 128]);
      const next = (reading as AsyncGenerator<any>).next();
      await one.append("s", bytes("more"));
      expect(Buffer.from((await next).value.chunk).toString()).toBe("more");
      const rest: string[] = [];
      const later = (async () => {
        for await (const { chunk: each } of one.read("s", entry.cursor, signal.signal))
          rest.push(Buffer.from(each).toString());
      })();
      expect(await one.finalize("s", "done")).toBe(true);
      await later;
      expect(rest).toEqual(["more"]);
      expect(await one.finalize("s", "done")).toBe(false);
      await expect(one.append("s", bytes("late"))).rejects.toThrow(/finalized|produce/);
      expect([await one.status("s"), await one.acquire("s")]).toEqual(["done", "consumer"]);
      await expect((one.read("none", "", signal.signal) as AsyncGenerator).next()).rejects.toThrow("not found");
      await expect(one.finalize("none", "done")).rejects.toThrow("not found");
      await one.delete("none");
    }
  });

  it("tells readers that a stream has failed", async () => {
    const [store, other] = await pairOf(kind, storeAt);
    await store.acquire("s");
    await store.append("s", bytes("one"));
    await store.finalize("s", "error", "no tokens left");
    expect(await other.status("s")).toBe("error");
    const reading = other.read("s", "", new AbortController().signal);
    expect(Buffer.from((await reading.next()).value!.chunk).toString()).toBe("one");
    expect((await failure(reading.next(), "UNAVAILABLE")).message).toContain("no tokens left");
    expect(await other.finalize("s", "done")).toBe(false);
    await failure(other.append("s", bytes("x")), "CONFLICT");
  });

  it("lets one of many callers produce a stream, and ends one whose producer is gone", async () => {
    const [store, other] = await pairOf(kind, storeAt);
    const roles = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).acquire("s")));
    expect(roles.filter((role) => role === "producer")).toHaveLength(1);
    const producer = roles.indexOf("producer") % 2 ? store : other;
    await producer.append("s", bytes("one"));
    const reader = producer === store ? other : store;
    await producer.close();
    expect(await reader.status("s")).toBe("error");
    const reading = reader.read("s", "", new AbortController().signal);
    await reading.next();
    expect((await failure(reading.next(), "UNAVAILABLE")).message).toContain("died");
    await wrongType(reader.append("s", "text" as never));
    await wrongType(reader.acquire(""));
  });
});
