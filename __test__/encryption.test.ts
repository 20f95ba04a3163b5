// Tests the recipe of docs/encryption.md, with the code of the document: what is stored is encrypted, keys can change, and
// a wrong key is a clear error.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CheckpointStore, type Serializer, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkpoint, failure, folder, open, rejection } from "./helpers.js";
import { write } from "./pages.js";
import { readPage, snippetsOf } from "./snippets.js";

interface Keyring {
  encrypt(plain: Uint8Array): Uint8Array;
  decrypt(bytes: Uint8Array): Uint8Array;
}

let keyring: (keys: ReadonlyMap<string, Uint8Array>, newest: string) => Keyring;
let encrypted: (keys: Keyring) => Serializer;

// The folder is inside the package, so that the snippets find the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

beforeAll(async () => {
  const blocks = snippetsOf(readPage("docs/encryption.md"));
  const load = (name: string) => {
    write(blocks.find(({ file }) => file === `${name}.mts`)!.code, join(place, name));
    return import(/* @vite-ignore */ pathToFileURL(join(place, `${name}.mjs`)).href);
  };
  ({ keyring } = await load("keyring"));
  ({ encrypted } = await load("encrypted-serializer"));
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

const key = (fill: number) => new Uint8Array(32).fill(fill);
const old = () => encrypted(keyring(new Map([["old", key(1)]]), "old"));
const both = () =>
  encrypted(
    keyring(
      new Map([
        ["old", key(1)],
        ["new", key(2)],
      ]),
      "new",
    ),
  );
const onlyNew = () => encrypted(keyring(new Map([["new", key(2)]]), "new"));

/** Returns all bytes of a folder's files. */
function bytesIn(path: string): Buffer {
  const files = readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file)));
}

const holding = (id: string, text: string) => {
  const whole = checkpoint({ id });
  return { ...whole, state: { ...whole.state, scratch: { text } } };
};

const textOf = async (store: CheckpointStore, id: string) =>
  ((await store.get(id))!.state.scratch as { text: string }).text;

describe("keys", () => {
  it("can change: old data stays readable with the old key, and new data needs only the new one", async () => {
    const file = join(folder(), "agent.db");
    const first = open(file, { serializer: old() });
    await first.save(holding("one", "ONE"));
    const second = open(file, { serializer: both() });
    expect(await textOf(second, "one")).toBe("ONE");
    await second.save(holding("two", "TWO"));
    expect(await textOf(second, "two")).toBe("TWO");

    const third = open(file, { serializer: onlyNew() });
    expect(await textOf(third, "two")).toBe("TWO");
    const error = await rejection(third.get("one"));
    expect(error.message).toContain('the data needs the key "old", which is not in the keyring');

    // Saved again, the old data uses the new key.
    await second.save((await second.get("one"))!);
    expect(await textOf(third, "one")).toBe("ONE");
  });

  it("that are wrong are a clear error, and the data does not change", async () => {
    const file = join(folder(), "agent.db");
    const store = open(file, { serializer: old() });
    await store.save(holding("one", "ONE"));
    const wrong = open(file, { serializer: encrypted(keyring(new Map([["old", key(9)]]), "old")) });
    const error = await failure(wrong.get("one"), "CORRUPT");
    expect(error.message).toContain('checkpoint "one" cannot be read: the serializer "encrypted-v8"');
    expect(error.cause).toEqual(new Error('the key "old" is not the one that encrypted the data'));
    expect(await textOf(open(file, { serializer: old() }), "one")).toBe("ONE");
  });

  it("of a wrong length, or that are missing, are refused before anything is stored", async () => {
    expect(() => keyring(new Map([["old", key(1)]]), "newer")).toThrow('needs the key "newer"');
    const short = open("memory:", { serializer: encrypted(keyring(new Map([["a", new Uint8Array(16)]]), "a")) });
    expect((await rejection(short.save(holding("one", "ONE")))).message).toContain("Invalid key length");
    expect(await short.get("one")).toBeNull();
  });

  it("notice every changed byte", () => {
    const { encrypt, decrypt } = keyring(new Map([["k", key(1)]]), "k");
    const plain = new TextEncoder().encode("a secret");
    const sealed = encrypt(plain);
    expect(Buffer.from(decrypt(sealed)).toString()).toBe("a secret");
    expect(encrypt(plain)).not.toEqual(sealed);
    for (const at of sealed.keys()) {
      const changed = Uint8Array.from(sealed, (byte, index) => (index === at ? byte ^ 1 : byte));
      expect(() => decrypt(changed), `byte ${at}`).toThrow(/key/);
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(() => decrypt(sealed.subarray(0, length)), `${length} bytes`).toThrow(
        /key|initialization vector|authentication tag/,
      );
    }
  });
});

it("what was stored without encryption stays readable, and a store without the serializer refuses", async () => {
  const file = join(folder(), "agent.db");
  const plain = open(file);
  await plain.save(holding("one", "ONE"));
  const secret = open(file, { serializer: old() });
  expect(await textOf(secret, "one")).toBe("ONE");
  await secret.save(holding("two", "TWO"));
  expect((await failure(plain.get("two"), "UNSUPPORTED")).message).toContain('"encrypted-v8"');
});

/** Stores something of every contract. The values contain SECRET, and the ids and names contain PLAIN. */
async function fill(target: string, serializer: Serializer | undefined): Promise<void> {
  await using store = await openStore(target, serializer && { serializer });
  const text = "SECRET";
  const agentos = new CheckpointStore(store);
  const one = {
    ...holding("PLAIN-agentos-id", text),
    runId: "PLAIN-run",
    graphId: "PLAIN-graph",
    nodeId: "PLAIN-node",
  };
  one.nodeResults = { [text]: { effectClass: "write", output: text, durationMs: 1 } };
  await agentos.save(one);
  expect(await agentos.get(one.id)).toEqual(one);

  const agentium = new WorkflowCheckpointStore<{ text: string }>(store);
  const step = { id: "PLAIN-w", runId: "PLAIN-w-run", stepIndex: 0, stepName: "PLAIN-step", createdAt: 1 };
  await agentium.save({ ...step, state: { text } });
  expect((await agentium.load("PLAIN-w"))!.state).toEqual({ text });

  const helix = new SessionStore<{ text: string }>(store);
  const sessionId = "PLAIN-session";
  await helix.createSession(sessionId, { agentType: "PLAIN-type", initialState: { text }, metadata: { text } });
  await helix.appendMessages(sessionId, [{ role: "user", content: text }]);
  const state = (await helix.loadState(sessionId))!;
  await helix.saveCheckpoint({ id: "PLAIN-h", sessionId, stepCount: 1, timestamp: 1, state, streamSequence: 0 });
  expect((await helix.getMessages(sessionId)).messages[0]!.content).toBe(text);
  await helix.rewindTo("PLAIN-h");
  expect((await helix.loadState(sessionId))!.customState).toEqual({ text });

  const tinyagents = new Checkpointer<{ text: string }>(store);
  const threadId = "PLAIN-thread";
  const checkpointId = await tinyagents.put({ threadId, state: { text }, nextNodes: [text], metadata: { text } });
  const write = { node: "PLAIN-writer", taskId: "PLAIN-task", idx: 0, channel: "PLAIN-channel", payload: text };
  await tinyagents.putWrites({ threadId, checkpointId }, [write]);
  expect(await tinyagents.getWrites({ threadId, checkpointId })).toEqual([write]);
  expect((await tinyagents.get(threadId))!.state).toEqual({ text });
  expect((await tinyagents.list(threadId))[0]!.nextNodes).toEqual([text]);
}

const names = "agentos-id run graph node w w-run step session type h thread writer task channel";
const plainNames = names.split(" ").map((name) => `PLAIN-${name}`);

it.each(["sqlite", "jsonl"])(
  "every contract's values are encrypted in %s, and its ids and names are not",
  async (kind) => {
    const cwd = folder();
    const target = kind === "sqlite" ? join(cwd, "agent.db") : `jsonl:${join(cwd, "runs")}`;
    await fill(target, both());
    const bytes = bytesIn(cwd);
    expect(bytes.includes("SECRET")).toBe(false);
    // The text files hold some of these names as base64, which is readable too.
    if (kind === "sqlite") expect(plainNames.filter((name) => !bytes.includes(name))).toEqual([]);

    // The same without encryption, to prove that the test finds what is not encrypted.
    const readable = folder();
    await fill(kind === "sqlite" ? join(readable, "agent.db") : `jsonl:${join(readable, "runs")}`, undefined);
    expect(bytesIn(readable).includes("SECRET")).toBe(true);
  },
);

it("the store's own check finds nothing wrong with encrypted data", async () => {
  const file = join(folder(), "agent.db");
  await fill(file, old());
  await using store = await openStore(file);
  expect(await store.check()).toMatchObject({ ok: true, findings: [] });
});
