// Tests streams that are resumed: by another store, and after their reader has left. stops.test.ts stops and kills their maker.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failure, kinds, place } from "../../__test__/helpers.js";
import { chatsAt, shared } from "./helpers.js";

const all = async (stream: ReadableStream<string> | null | undefined): Promise<string> => {
  expect(stream).toBeInstanceOf(ReadableStream);
  let text = "";
  for await (const chunk of stream!) text += chunk;
  return text;
};

/** A stream that is written by hand. */
function source() {
  let controller!: ReadableStreamDefaultController<string>;
  const stream = new ReadableStream<string>({ start: (given) => void (controller = given) });
  return {
    stream,
    write: (text: string) => controller.enqueue(text),
    end: () => controller.close(),
    fail: (error: Error) => controller.error(error),
  };
}

const until = async (test: () => Promise<boolean>) => {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe.each(kinds)("streams of %s", (kind) => {
  test("a stream is read while it is made, and by another store", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    expect(await theirs.hasExistingStream("s")).toBeNull();
    expect(await theirs.resumeExistingStream("s")).toBeUndefined();
    const { stream, write, end } = source();
    const first = all(await mine.createNewResumableStream("s", () => stream));
    expect(await theirs.hasExistingStream("s")).toBe(true);
    write("one ");
    const second = (await theirs.resumeExistingStream("s"))!.getReader();
    expect(await second.read()).toEqual({ done: false, value: "one " });
    write("two é😀 ");
    expect(await second.read()).toEqual({ done: false, value: "two é😀 " });
    const skipping = all(await mine.resumeExistingStream("s", 4));
    const beyond = all(await mine.resumeExistingStream("s", 14));
    write("three");
    end();
    expect(await first).toBe("one two é😀 three");
    expect(await second.read()).toEqual({ done: false, value: "three" });
    expect(await second.read()).toEqual({ done: true, value: undefined });
    expect(await skipping).toBe("two é😀 three");
    expect(await beyond).toBe("ree");
    expect(await theirs.resumeExistingStream("s")).toBeNull();
    expect(await theirs.hasExistingStream("s")).toBe("DONE");
    await failure(
      theirs.createNewResumableStream("s", () => source().stream),
      "CONFLICT",
    );
  });

  test("a reader that leaves does not end the stream", async () => {
    const chats = chatsAt(place(kind));
    const { stream, write, end } = source();
    const promises: Array<Promise<unknown>> = [];
    const waitUntil = (promise: Promise<unknown>) => promises.push(promise);
    const reader = (await chats.createNewResumableStream("s", () => stream, { waitUntil })).getReader();
    write("one ");
    expect(await reader.read()).toEqual({ done: false, value: "one " });
    await reader.cancel();
    write("two ".repeat(5_000));
    const second = await chats.resumeExistingStream("s");
    await (await chats.resumeExistingStream("s"))!.cancel();
    end();
    expect(promises).toHaveLength(1);
    await promises[0];
    expect(await chats.hasExistingStream("s")).toBe("DONE");
    expect(await all(second)).toBe(`one ${"two ".repeat(5_000)}`);
  });

  test("an empty stream ends, and one that fails fails for all readers", async () => {
    const chats = chatsAt(place(kind));
    expect(await all(await chats.createNewResumableStream("empty", () => ReadableStream.from<string>([])))).toBe("");
    expect(await chats.resumeExistingStream("empty")).toBeNull();
    const { stream, write, fail } = source();
    const first = all(await chats.createNewResumableStream("fails", () => stream));
    write("one");
    const second = await chats.resumeExistingStream("fails");
    await until(async () => (await chats.hasExistingStream("fails")) === true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    fail(new Error("the model is gone"));
    await expect(first).rejects.toThrow("the model is gone");
    expect((await failure(all(second), "UNAVAILABLE")).cause).toMatchObject({ message: "the model is gone" });
    expect(await chats.hasExistingStream("fails")).toBe("DONE");
    const bytes = await chats.createNewResumableStream(
      "bytes",
      () => ReadableStream.from([new Uint8Array(1)]) as never,
    );
    await expect(all(bytes)).rejects.toThrow("a stream must consist of strings");
    await expect(chats.createNewResumableStream("none", () => "text" as never)).rejects.toThrow(
      "makeStream must return a ReadableStream of strings",
    );
    expect(await chats.hasExistingStream("none")).toBe("DONE");
  });

  test("what fails before the stream is made is told, and a waitUntil that throws, too", async () => {
    const chats = chatsAt(place(kind));
    const wrong = () => Promise.reject(new Error("no prompt"));
    await expect(chats.createNewResumableStream("s", wrong)).rejects.toThrow("no prompt");
    expect(await chats.hasExistingStream("s")).toBe("DONE");
    const { stream, write, end } = source();
    const waitUntil = () => {
      throw new Error("outside of a request");
    };
    await expect(chats.createNewResumableStream("t", () => stream, { waitUntil })).rejects.toThrow("outside");
    // The stream is made on all the same.
    const second = all(await chats.resumeExistingStream("t"));
    write("text");
    const again = await failure(
      chats.createNewResumableStream("t", () => stream),
      "CONFLICT",
    );
    expect(again.message).toBe('stream "t" already exists, and is made now: use a new id for each stream');
    end();
    expect(await second).toBe("text");
  });

  test("a store that is closed leaves the stream to its first reader", async () => {
    const target = await shared(kind);
    const chats = chatsAt(target);
    const { stream, write, end } = source();
    const first = all(await chats.createNewResumableStream("s", () => stream));
    write("one ");
    await chats.close();
    write("two");
    end();
    expect(await first).toBe("one two");
    if (kind !== "memory") expect(await chatsAt(target).hasExistingStream("s")).toBe("DONE");
  });

  test("the text goes a day after the end, and what is made stays", async () => {
    const chats = chatsAt(place(kind));
    const brief = (id: string) => chats.createNewResumableStream(id, () => ReadableStream.from(["text"])).then(all);
    await brief("old");
    const { stream, end } = source();
    const made = all(await chats.createNewResumableStream("made", () => stream));
    const now = Date.now();
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(Date, "now").mockImplementation(() => now + 23 * 3_600_000);
    await brief("young");
    expect(await chats.hasExistingStream("old")).toBe("DONE");
    // From here on each call may remove it.
    vi.spyOn(Date, "now").mockImplementation(() => now + 26 * 3_600_000);
    await until(async () => (await chats.hasExistingStream("old")) === null);
    expect(await chats.hasExistingStream("young")).toBe("DONE");
    vi.restoreAllMocks();
    expect(await chats.hasExistingStream("made")).toBe(true);
    end();
    expect(await made).toBe("");
  });
});
