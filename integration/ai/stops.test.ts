// Tests answers that are stopped: in one process, from another one, and over kills of the answer's and the stopping process.
import type { ChildProcess } from "node:child_process";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as ai from "ai";
import { type UIMessage, convertToModelMessages, validateUIMessages } from "ai";
import { copyStore, openStore } from "forkpoint";
import { ForkpointChats } from "forkpoint/ai";
import { fromJsonForm, openInspector } from "forkpoint/inspect";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Ended,
  Gate,
  closing,
  failure,
  folder,
  kinds,
  place,
  run,
  sharedKinds,
  wrongType,
} from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/answer.mjs";
// @ts-expect-error: a program without types
import * as models from "./fixtures/model.mjs";
import { chatsAt, shared, user } from "./helpers.js";

type Chats = ForkpointChats<UIMessage>;
type Answer = (id: string, messages: UIMessage[]) => Promise<{ streamId: string; stream: ReadableStream<string> }>;
interface Options {
  model: unknown;
  tools?: object;
  deaf?: boolean;
  onEnd?: () => Promise<void>;
  onSaved?: (saved: { version: number }) => void;
}
const answerer = program.answerer as (chats: Chats, options: Options) => Answer;
const silentModel = program.silentModel as (chunks: object[], onAbort?: () => void) => unknown;
const started = program.started as object[];

const question = user("Why?", "u1");
const opened = async (target: Parameters<typeof chatsAt>[0], options?: Parameters<typeof chatsAt>[1]) =>
  chatsAt(target, options) as unknown as Chats;

/** Reads a stream until it has this text. */
async function readTo(reader: ReadableStreamDefaultReader<string>, text: string): Promise<void> {
  for (let all = ""; !all.includes(text);) {
    const { done, value } = await reader.read();
    expect(done).toBe(false);
    all += value;
  }
}

/** Reads a stream to its end. */
async function rest(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  for (let all = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return all;
    all += value;
  }
}

/** Expects that the chat has the answer once, at its end, and that the next turn can use it. */
async function expectSettled(chats: Chats, id: string, message: UIMessage | null): Promise<void> {
  const chat = (await chats.readChat(id))!;
  expect(chat.activeStreamId).toBeNull();
  expect(chat.messages.at(-1)).toEqual(message);
  const ids = chat.messages.map((each) => each.id);
  expect(new Set(ids).size).toBe(ids.length);
  const valid = await validateUIMessages({ messages: [...chat.messages, user("And?", "u9")] });
  expect((await convertToModelMessages(valid)).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
}

const isPartial = { role: "assistant", parts: [{ type: "step-start" }, { type: "text", text: "The answer begins" }] };

describe.each(kinds)("answers of %s", (kind) => {
  test("a stop ends the answer, saves it once, and reaches the model", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [await opened(target), await opened(target)];
    let aborted = 0;
    const answer = answerer(mine, { model: silentModel(started, () => (aborted += 1)) });
    const { streamId, stream } = await answer("c", [question]);
    const first = stream.getReader();
    await readTo(first, "begins");
    const second = (await theirs.resumeExistingStream(streamId))!.getReader();
    await readTo(second, "begins");
    const { message, ...result } = await theirs.stop("c", { by: "user u-7", reason: "the stop button" });
    expect(result).toMatchObject({ outcome: "stopped", answer: "stopped", streamId, saved: true });
    expect(message).toMatchObject(isPartial);
    expect(aborted).toBe(1);
    await expectSettled(theirs, "c", message);
    // Every reader gets a clean end. The SDK says that the answer was aborted, but not why.
    const ends = [await rest(first), await rest(second)];
    for (const end of ends) {
      expect(end).toContain('"type":"abort"');
      expect(end).not.toContain("stop button");
    }
    expect(await mine.resumeExistingStream(streamId)).toBeNull();
    expect(await mine.hasExistingStream(streamId)).toBe("DONE");
    // A second click, also by the stream's id, changes nothing.
    const { versions } = await theirs.versions("c");
    for (const id of ["c", streamId]) {
      const again = { outcome: "not running", answer: "stopped", streamId, message, saved: true };
      expect(await mine.stop(id)).toMatchObject(again);
    }
    expect((await theirs.versions("c")).versions).toEqual(versions);
    expect(await theirs.partialMessage("c")).toEqual(message);
    if (kind === "memory") return;
    await using inspector = await openInspector(target as string);
    const found = (await inspector.checkpoint({ space: "ai-streams", run: streamId, id: streamId }))!;
    expect(found.checkpoint).toMatchObject({ label: "stopped", meta: { state: "stopped", chat: "c" } });
    expect(fromJsonForm(found.rest)).toMatchObject({ stop: { by: "user u-7", reason: "the stop button" } });
  });

  /** A stopped answer whose app has not yet saved it. `save` lets the app do so. */
  async function saveLate(chats: Chats) {
    const gate = new Gate();
    let onSaved!: (saved: { version: number }) => void;
    const saved = new Promise<{ version: number }>((resolve) => (onSaved = resolve));
    const answer = answerer(chats, { model: silentModel(started), deaf: true, onEnd: gate.wait, onSaved });
    const { streamId, stream } = await answer("c", [question]);
    await readTo(stream.getReader(), "begins");
    const { message, outcome } = await chats.stop(streamId);
    expect(outcome).toBe("stopped");
    await expectSettled(chats, "c", message);
    // The SDK calls the app when the source is cancelled. Its message has an open text.
    await gate.reached;
    const save = () => {
      gate.open();
      return saved;
    };
    return { message: message!, save };
  }

  test("a source that ignores the signal is cancelled, and the app's late save is finished", async () => {
    const chats = await opened(place(kind));
    const { message, save } = await saveLate(chats);
    const { version } = (await chats.readChat("c"))!;
    expect(await save()).toEqual({ version });
    await expectSettled(chats, "c", message);
  });

  test("neither a stop nor the late save of a stopped answer changes a newer turn", async () => {
    const target = await shared(kind);
    const [chats, other] = [await opened(target), await opened(target)];
    const { message, save } = await saveLate(chats);
    const next = [question, message, user("Shorter!", "u2")];
    const answer = answerer(other, { model: silentModel(started) });
    const { streamId, stream } = await answer("c", next);
    await readTo(stream.getReader(), "begins");
    const { version } = (await other.readChat("c"))!;
    expect(await save()).toEqual({ version });
    expect(await other.readChat("c")).toMatchObject({ messages: next, version, activeStreamId: streamId });
    await chats.stop(streamId);
  });

  test("a turn that begins during a stop stays", async () => {
    const chats = await opened(place(kind));
    const gate = new Gate();
    const answer = answerer(chats, { model: silentModel(started), onEnd: gate.wait });
    const { stream } = await answer("c", [question]);
    await readTo(stream.getReader(), "begins");
    const stop = chats.stop("c");
    await gate.reached;
    const next = [question, user("Forget it. Why not?", "u2")];
    const { version } = await chats.saveChat({ id: "c", messages: next, activeStreamId: "s2" });
    gate.open();
    expect(await stop).toMatchObject({ outcome: "stopped", saved: false, message: isPartial });
    expect(await chats.readChat("c")).toMatchObject({ messages: next, version, activeStreamId: "s2" });
  });

  test("an answer of a function that works on the chat alone", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [await opened(target), await opened(target)];
    const answer = answerer(mine, { model: silentModel(started) });
    const alone = () => mine.exclusive("c", async () => (await answer("c", [question])).stream);
    // Its reader leaves, and the answer goes on. Nobody else changes the chat then.
    const reader = (await alone()).getReader();
    await readTo(reader, "begins");
    const left = reader.cancel();
    const error = await failure(theirs.saveChat({ id: "c", messages: [] }), "CONFLICT");
    expect(error.lease).toBeTruthy();
    const { message, ...result } = await theirs.stop("c", { by: "me" });
    expect(result).toMatchObject({ outcome: "stopped", answer: "stopped", saved: true });
    expect(message).toMatchObject(isPartial);
    await left;
    await expectSettled(theirs, "c", message);
    // A newer request takes its place, and finds what it has said.
    const other = await mine.exclusive("d", async () => (await answer("d", [question])).stream);
    const first = other.getReader();
    await readTo(first, "begins");
    const found = theirs.exclusive("d", () => theirs.readChat("d"), { whenBusy: "interrupt" });
    await failure(rest(first), "STOPPED");
    const chat = (await found)!;
    expect(chat.messages).toMatchObject([question, isPartial]);
    await expectSettled(theirs, "d", chat.messages[1]!);
  });

  test("a stop does not change the turn of another tab", async () => {
    const chats = await opened(place(kind));
    await chats.saveChat({ id: "c", messages: [question], activeStreamId: "s" });
    const chunks = ["text-start", "text-delta"].map((type) => ({ type, id: "t", delta: "So far" }));
    const source = ReadableStream.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`));
    await rest((await chats.createNewResumableStream("s", () => source)).getReader());
    // It has edited the question, and names no stream.
    const edited = [user("What?", "u1")];
    await chats.saveChat({ id: "c", messages: edited });
    const { message, ...result } = await chats.stop("s");
    expect(result).toMatchObject({ outcome: "not running", answer: "ended", streamId: "s", saved: false });
    expect(message).toMatchObject({ parts: [{ text: "So far" }] });
    expect(await chats.readChat("c")).toMatchObject({ messages: edited, activeStreamId: null });
  });

  test("two stops at the same time", async () => {
    const target = await shared(kind);
    const all = await Promise.all([1, 2, 3].map(() => opened(target)));
    const answer = answerer(all[0]!, { model: silentModel(started) });
    const { streamId, stream } = await answer("c", [question]);
    await readTo(stream.getReader(), "begins");
    const results = await Promise.all([...all.map((chats) => chats.stop("c")), all[1]!.stop(streamId)]);
    for (const { message, ...result } of results) {
      expect(message).toEqual(results[0]!.message);
      expect(result).toMatchObject({ answer: "stopped", saved: true });
    }
    expect(results.map(({ outcome }) => outcome)).toContain("stopped");
    await expectSettled(all[2]!, "c", results[0]!.message);
    // The question, the app's save, and the answer without open parts.
    expect((await all[2]!.versions("c")).versions).toHaveLength(3);
  });

  test("nothing to stop", async () => {
    const chats = await opened(place(kind));
    const none = { outcome: "not running", holder: null, answer: null, streamId: null, message: null, saved: false };
    expect(await chats.stop("unknown")).toEqual(none);
    expect(await chats.partialMessage("unknown")).toBeNull();
    await chats.saveChat({ id: "c", messages: [question] });
    expect(await chats.stop("c")).toEqual(none);
    // A chat with the id of a stream is not its chat.
    const foreign = await answerer(chats, { model: silentModel(started) })("foreign", [question]);
    await chats.saveChat({ id: foreign.streamId, messages: [question] });
    expect(await chats.stop(foreign.streamId)).toEqual(none);
    expect(await chats.partialMessage(foreign.streamId)).toBeNull();
    expect(await chats.hasExistingStream(foreign.streamId)).toBe(true);
    await chats.stop("foreign");
    // A stream that is stored elsewhere.
    await chats.saveChat({ id: "c", activeStreamId: "elsewhere" });
    expect(await chats.stop("c")).toEqual({ ...none, streamId: "elsewhere" });
    // An answer that has ended: its app has saved it.
    const { streamId, stream } = await answerer(chats, { model: models.makeModel() })("d", [question]);
    await rest(stream.getReader());
    const { messages, version } = (await chats.readChat("d"))!;
    const ended = { outcome: "not running", answer: "ended", streamId, message: messages[1], saved: true };
    expect(await chats.stop("d")).toMatchObject(ended);
    expect(await chats.stop(streamId)).toMatchObject(ended);
    expect(await chats.readChat("d")).toMatchObject({ messages, version });
    // A deleted chat stays deleted.
    const other = await answerer(chats, { model: silentModel(started) })("e", [question]);
    await readTo(other.stream.getReader(), "begins");
    await chats.deleteChat("e");
    expect(await chats.stop("e")).toEqual(none);
    const gone = await chats.stop(other.streamId);
    expect(gone).toMatchObject({ outcome: "stopped", answer: "stopped", saved: false, message: isPartial });
    expect(await chats.readChat("e")).toBeNull();
  });

  test("a source that fails fails for every reader", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [await opened(target), await opened(target)];
    let fail!: (error: Error) => void;
    const source = new ReadableStream<string>({
      start: (controller) => {
        controller.enqueue('data: {"type":"text-start","id":"t"}\n\n');
        controller.enqueue('data: {"type":"text-delta","id":"t","delta":"So far"}\n\n');
        fail = (error) => controller.error(error);
      },
    });
    await mine.saveChat({ id: "c", messages: [question], activeStreamId: "s" });
    const first = (await mine.createNewResumableStream("s", () => source)).getReader();
    await readTo(first, "So far");
    const second = (await theirs.resumeExistingStream("s"))!.getReader();
    await readTo(second, "So far");
    fail(new RangeError("the model is gone"));
    await expect(rest(first)).rejects.toThrow("the model is gone");
    const late = (await theirs.resumeExistingStream("s", 10))!.getReader();
    await readTo(late, "So far");
    for (const reader of [second, late]) {
      const error = await failure(rest(reader), "UNAVAILABLE");
      expect(error.message).toBe('stream "s" has failed: its source threw the cause of this error');
      expect(error.retryable).toBe(false);
      expect(error.cause).toBeInstanceOf(Error);
      expect(String(error.cause)).toBe("RangeError: the model is gone");
    }
    expect(await theirs.hasExistingStream("s")).toBe("DONE");
    const { message, ...result } = await theirs.stop("c");
    expect(result).toMatchObject({ outcome: "not running", answer: "failed", streamId: "s", saved: true });
    await expectSettled(theirs, "c", message);
  });

  test("a stop while the source is made aborts its signal", async () => {
    const chats = await opened(place(kind));
    const gate = new Gate();
    const making = chats.createNewResumableStream("s", async ({ signal }) => {
      await chats.saveChat({ id: "c", messages: [question], activeStreamId: "s" });
      const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      void gate.wait();
      await aborted;
      throw new Error("not reached");
    });
    making.catch(() => {});
    await gate.reached;
    const result = await chats.stop("c");
    expect(result).toMatchObject({ outcome: "stopped", answer: "stopped", streamId: "s", message: null, saved: false });
    await expect(making).rejects.toMatchObject({ name: "AbortError", message: "the answer was stopped" });
    expect(await chats.readChat("c")).toMatchObject({ messages: [question], activeStreamId: null });
  });

  test("random stops of answers that also end by themselves", async () => {
    const target = await shared(kind);
    const all = await Promise.all([1, 2].map(() => opened(target)));
    const file = join(folder(), "sent");
    for (let n = 0; n < 12; n++) {
      const [mine, theirs] = n % 2 === 0 ? [all[0]!, all[1]!] : [all[1]!, all[0]!];
      const id = `c${n}`;
      const options = { model: models.makeModel({ delay: n % 4 }), tools: { send: models.makeTool(file) } };
      const { streamId, stream } = await answerer(mine, { ...options, deaf: n % 3 === 0 })(id, [
        user("send bob", "u1"),
      ]);
      const reading = rest(stream.getReader());
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      const results = await Promise.all([theirs.stop(id), mine.stop(streamId), theirs.stop(id)]);
      await reading;
      for (const { answer } of results) expect(["stopped", "ended"]).toContain(answer);
      const [{ message, saved }] = results;
      expect(saved).toBe(message !== null);
      const { messages, activeStreamId } = (await theirs.readChat(id))!;
      expect(activeStreamId).toBeNull();
      expect(messages.map(({ id: each }) => each)).toEqual(message === null ? ["u1"] : ["u1", message.id]);
      // Its app may save an answer that was stopped later than the stop, and then has more of it.
      const next = [...messages, user("And?", "u2")];
      const { stream: second } = await answerer(theirs, options)(id, next);
      expect(await rest(second.getReader())).toContain('"finishReason":"stop"');
      expect((await mine.loadChat(id)).slice(0, -1)).toEqual(next);
    }
  });

  test("wrong arguments, and a missing SDK", async () => {
    const store = closing(await openStore(place(kind)));
    const chats = await opened(store);
    await wrongType(chats.stop(7 as never));
    await wrongType(chats.stop(""));
    await wrongType(chats.partialMessage("a\0b"));
    await wrongType(chats.stop("c", { by: 7 as never }));
    await wrongType(chats.stop("c", { who: "me" } as never));
    await expect(chats.stop("c", { waitMs: -1 })).rejects.toThrow(RangeError);
    expect(() => new ForkpointChats(store, { ai: {} as never })).toThrow('option "ai" must be the module ai');
    const { streamId, stream } = await answerer(chats, { model: silentModel(started) })("c", [question]);
    const reader = stream.getReader();
    await readTo(reader, "begins");
    // The SDK is not beside the package here.
    const without = closing(new ForkpointChats(store));
    for (const call of [without.stop("c"), without.partialMessage(streamId)]) {
      const error = await failure(call, "UNSUPPORTED");
      expect(error.message).toContain("forkpoint/ai needs the package ai");
    }
    expect(await chats.hasExistingStream(streamId)).toBe(true);
    // A stop that does not wait.
    const { outcome, answer, saved } = await chats.stop("c", { waitMs: 0 });
    expect({ outcome, answer, saved }).toEqual({ outcome: "no answer", answer: "open", saved: false });
    await rest(reader);
    await expectSettled(chats, "c", await chats.partialMessage("c"));
  });
});

describe.each(sharedKinds)("answers of %s, in several processes", (kind) => {
  /** Starts an answer in another process, and waits until its text is stored. */
  async function elsewhere(target: string, makerTtlMs = 10_000) {
    const file = join(folder(), "go");
    const waiting = new Map<string, (line: string) => void>();
    const said = (word: string) => new Promise<string>((resolve) => waiting.set(word, resolve));
    const streaming = said("streaming");
    let child: ChildProcess | undefined;
    const args = [target, "c", file, String(makerTtlMs)];
    const ended = run("../../integration/ai/fixtures/answer.mjs", args, (line, its) => {
      child = its;
      waiting.get(line.split(" ")[0]!)?.(line);
    });
    onTestFinished(() => void child?.kill("SIGKILL"));
    const [, streamId] = (await streaming).split(" ") as [string, string];
    const chats = await opened(target);
    const reader = (await chats.resumeExistingStream(streamId))!.getReader();
    await readTo(reader, "begins");
    const kill = () => child!.kill();
    /** Blocks the process. It does not hold the database then. */
    const block = async () => {
      const busy = said("busy");
      child!.kill("SIGUSR2");
      await busy;
    };
    const unblock = () => writeFileSync(file, "");
    /** The lines after the first one, without those of a blocked process. */
    const lines = async () => {
      const { lines: all, errors, code } = await ended;
      expect({ errors, code }).toEqual({ errors: "", code: 0 });
      return all.slice(1).filter((line) => line !== "busy");
    };
    return { chats, streamId, reader, ended, kill, block, unblock, lines };
  }
  const stopping = (args: string[]): Promise<Ended> => run("../../integration/ai/fixtures/stop.mjs", args);

  test("a stop reaches the process of the answer", async () => {
    const target = place(kind);
    const { chats, streamId, reader, lines } = await elsewhere(target);
    const { message, ...result } = await chats.stop("c", { by: "me" });
    expect(result).toMatchObject({ outcome: "stopped", answer: "stopped", streamId, saved: true });
    expect(message).toMatchObject(isPartial);
    await expectSettled(chats, "c", message);
    expect(await rest(reader)).toContain('"type":"abort"');
    expect(await lines()).toEqual(["aborted", "closed"]);
  });

  test("the answer of a killed process is saved once", async () => {
    const target = place(kind);
    const { chats, streamId, reader, ended, kill } = await elsewhere(target);
    kill();
    await ended;
    const error = await failure(rest(reader), "UNAVAILABLE");
    expect(error.message).toContain("its process has ended");
    const partial = await chats.partialMessage(streamId);
    expect(partial).toMatchObject(isPartial);
    expect(await chats.loadChat("c")).toEqual([question]);
    const other = await opened(target);
    const both = await Promise.all([chats.stop("c"), other.stop(streamId)]);
    for (const { message, saved } of both) expect({ message, saved }).toEqual({ message: partial, saved: true });
    for (const result of both) expect(result).toMatchObject({ outcome: "not running", answer: "interrupted" });
    await expectSettled(chats, "c", partial);
    expect(await chats.resumeExistingStream(streamId)).toBeNull();
    expect((await chats.versions("c")).versions).toHaveLength(2);
    // The next request. A stop of the old answer does not touch it.
    const { messages } = (await chats.readChat("c"))!;
    const next = [...messages, user("And?", "u2")];
    const { stream } = await answerer(chats, { model: models.makeModel() })("c", next);
    await rest(stream.getReader());
    const now = await chats.readChat("c");
    expect(now!.messages).toHaveLength(4);
    const late = { outcome: "not running", answer: "interrupted", saved: true, message: partial };
    expect(await other.stop(streamId)).toMatchObject(late);
    expect(await chats.readChat("c")).toEqual(now);
  });

  test("the stopping process is killed after it has asked: the answer is saved all the same", async () => {
    const target = place(kind);
    const { chats, streamId, reader, lines } = await elsewhere(target);
    expect(await stopping([target, "c", "ask"])).toMatchObject({ signal: "SIGKILL", lines: [] });
    expect(await lines()).toEqual(["aborted", "closed"]);
    await rest(reader);
    const partial = await chats.partialMessage(streamId);
    expect(partial).toMatchObject(isPartial);
    await expectSettled(chats, "c", partial);
    expect(await chats.stop("c")).toMatchObject({
      outcome: "not running",
      answer: "stopped",
      saved: true,
      message: partial,
    });
  });

  test.each(["save", "append"])("both processes are killed, the stopping one after its %s", async (operation) => {
    const target = place(kind);
    const { chats, streamId, reader, ended, kill } = await elsewhere(target);
    kill();
    await ended;
    await failure(rest(reader), "UNAVAILABLE");
    expect(await stopping([target, "c", operation])).toMatchObject({ signal: "SIGKILL", lines: [] });
    const { message, ...result } = await chats.stop(streamId);
    expect(result).toMatchObject({ outcome: "not running", answer: "interrupted", streamId, saved: true });
    expect(message).toMatchObject(isPartial);
    await expectSettled(chats, "c", message);
    expect((await chats.versions("c")).versions).toHaveLength(2);
  });

  test("a process that does not listen stops when it can", async () => {
    const target = place(kind);
    const { chats, streamId, block, unblock, lines } = await elsewhere(target);
    await block();
    const { message, ...result } = await chats.stop("c", { waitMs: 100 });
    expect(result).toMatchObject({ outcome: "no answer", answer: "open", streamId, saved: false });
    expect(message).toMatchObject(isPartial);
    expect(await chats.loadChat("c")).toEqual([question]);
    unblock();
    expect(await lines()).toEqual(["aborted", "closed"]);
    await expectSettled(chats, "c", message);
  });

  test("a process that sleeps through its lease changes nothing when it wakes", async () => {
    const target = place(kind);
    const { chats, streamId, block, unblock, lines } = await elsewhere(target, 2_000);
    await block();
    const { message, ...result } = await chats.stop("c");
    expect(result).toMatchObject({ outcome: "not running", answer: "interrupted", streamId, saved: true });
    unblock();
    expect(await lines()).toEqual(["aborted", "closed"]);
    await expectSettled(chats, "c", message);
    expect(await chats.resumeExistingStream(streamId)).toBeNull();
  });
});

test.each(kinds)("a copy of %s has stopped, interrupted and failed answers", async (kind) => {
  const [source, copy] = [closing(await openStore(place(kind))), closing(await openStore(place(kind)))];
  const chats = await opened(source);
  const stopped = await answerer(chats, { model: silentModel(started) })("stopped", [question]);
  await readTo(stopped.stream.getReader(), "begins");
  const { message } = await chats.stop("stopped");
  // Its maker is not in the copy.
  const open = await answerer(chats, { model: silentModel(started) })("open", [question]);
  await readTo(open.stream.getReader(), "begins");
  await readTo((await chats.resumeExistingStream(open.streamId))!.getReader(), "begins");
  const failing = chats.createNewResumableStream("failed", () => Promise.reject(new Error("no model")));
  await expect(failing).rejects.toThrow("no model");
  await copyStore(source, copy);
  const copied = await opened(copy);
  expect(await copied.stop("stopped")).toMatchObject({ answer: "stopped", message, saved: true });
  expect(await copied.resumeExistingStream(stopped.streamId)).toBeNull();
  const late = (await copied.resumeExistingStream(open.streamId))!.getReader();
  expect((await failure(rest(late), "UNAVAILABLE")).message).toContain("was interrupted");
  expect(await copied.stop("open")).toMatchObject({ answer: "interrupted", message: isPartial, saved: true });
  const failed = (await copied.resumeExistingStream("failed"))!.getReader();
  expect((await failure(rest(failed), "UNAVAILABLE")).cause).toMatchObject({ message: "no model" });
  // The source is as it was.
  expect(await chats.hasExistingStream(open.streamId)).toBe(true);
  expect(await chats.stop("open")).toMatchObject({ outcome: "stopped", answer: "stopped" });
  expect(await copied.stop("failed")).toMatchObject({ answer: "failed", message: null, saved: false });
});

test.each(sharedKinds.filter((kind) => kind !== "postgres"))(
  "the error of a source in %s is encrypted",
  async (kind) => {
    const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x55);
    const serializer = {
      name: "flipped",
      serialize: (value: unknown) => flip(Buffer.from(JSON.stringify(value))),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(flip(bytes)).toString()) as unknown,
    };
    const stored = async (options: object) => {
      const target = place(kind);
      const chats = new ForkpointChats<UIMessage>(target, { ai, ...options });
      const { stream } = await answerer(chats, { model: silentModel(started) })("c", [question]);
      await readTo(stream.getReader(), "begins");
      const { message } = await chats.stop("c");
      expect(message).toMatchObject(isPartial);
      const failing = chats.createNewResumableStream("s", () => Promise.reject(new Error("the key is wrong")));
      await expect(failing).rejects.toThrow("the key is wrong");
      const reader = (await chats.resumeExistingStream("s"))!.getReader();
      expect((await failure(rest(reader), "UNAVAILABLE")).cause).toMatchObject({ message: "the key is wrong" });
      await chats.close();
      const path = target.replace(/^jsonl:/, "");
      const files =
        kind === "sqlite" ? [path] : readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
      const bytes = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file));
      return ["the key is wrong", "The answer "].filter((text) => Buffer.concat(bytes).includes(text));
    };
    expect(await stored({ serializer: "json" })).toEqual(["the key is wrong", "The answer "]);
    expect(await stored({ serializer })).toEqual([]);
  },
);
