// Tests the store inside the real SDK, with a program in the place of `claude`.
import { spawnSync, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  InMemorySessionStore,
  deleteSession,
  foldSessionSummary,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  importSessionToStore,
  listSessions,
  listSubagents,
  renameSession,
  tagSession,
  type SessionStore as Theirs,
} from "@anthropic-ai/claude-agent-sdk";
import { type FoldSessionSummary, SessionStore } from "forkpoint/claude-agent-sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { everyKind, folder, kinds, place, sharedKinds, windows } from "../../__test__/helpers.js";
import { agent, ask, machine, turn } from "./sdk.js";

function make(target: string): SessionStore {
  const store = new SessionStore(target, { foldSessionSummary: foldSessionSummary as FoldSessionSummary });
  onTestFinished(async () => {
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });
  return store;
}

describe.each(kinds)("the Claude Agent SDK over %s", (kind) => {
  it("resumes, continues and forks a session whose files are gone", async () => {
    const store: SessionStore & Theirs = make(place(kind));
    const { cwd, projectKey, env } = machine();
    const first = await ask(store, "hello", { cwd, env });
    expect(first).toMatchObject({ result: "found 0", mirrorErrors: 0 });
    const another = machine();
    const elsewhere = { env: { ...another.env }, cwd };
    expect(await ask(store, "again", { ...elsewhere, resume: first.session })).toMatchObject({
      result: "found 2",
      session: first.session,
    });
    rmSync(another.env["CLAUDE_CONFIG_DIR"]!, { recursive: true, force: true });
    expect(await ask(store, "and again", { ...elsewhere, continue: true })).toMatchObject({
      result: "found 4",
      session: first.session,
    });
    expect(await store.load({ projectKey, sessionId: first.session })).toHaveLength(6);
    // An unknown id is not an error of the SDK.
    const unknown = "00000000-0000-4000-8000-000000000000";
    expect(await ask(store, "new", { ...elsewhere, resume: unknown })).toMatchObject({
      result: "found 0",
      session: unknown,
    });
  });

  it("the SDK's functions list, read, rename, tag, fork and delete", async () => {
    const store = make(place(kind));
    const { cwd, projectKey, env } = machine();
    const { session } = await ask(store, "first words", { cwd, env });
    await ask(store, "second words", { cwd, env, resume: session });
    const of = { sessionStore: store, dir: cwd };
    expect(await listSessions(of)).toMatchObject([{ sessionId: session, firstPrompt: "first words" }]);
    const messages = await getSessionMessages(session, of);
    expect(messages.map(({ type }) => type)).toEqual(["user", "assistant", "user", "assistant"]);
    await renameSession(session, "Lisbon", of);
    await tagSession(session, "travel", of);
    expect(await getSessionInfo(session, of)).toMatchObject({ customTitle: "Lisbon", tag: "travel" });
    expect(await listSessions(of)).toMatchObject([{ sessionId: session, customTitle: "Lisbon", tag: "travel" }]);
    const { sessionId: fork } = await forkSession(session, { ...of, upToMessageId: messages[1]!.uuid });
    expect(await getSessionMessages(fork, of)).toHaveLength(2);
    expect((await listSessions(of)).map(({ sessionId }) => sessionId).toSorted()).toEqual([fork, session].toSorted());
    await deleteSession(session, of);
    expect((await listSessions(of)).map(({ sessionId }) => sessionId)).toEqual([fork]);
    expect(await store.load({ projectKey, sessionId: session })).toBeNull();
  });

  it("reads the summaries that the store has kept, and no transcript", async () => {
    const store = make(place(kind));
    const { cwd, env } = machine();
    for (const prompt of ["one", "two", "three"]) await ask(store, prompt, { cwd, env });
    const loads: unknown[] = [];
    const counting: Theirs = {
      append: (key, entries) => store.append(key, entries),
      load: (key) => (loads.push(key), store.load(key)),
      listSessions: (project) => store.listSessions(project),
      listSessionSummaries: (project) => store.listSessionSummaries!(project) as never,
    };
    const listed = await listSessions({ sessionStore: counting, dir: cwd });
    expect(listed.map(({ firstPrompt }) => firstPrompt).toSorted()).toEqual(["one", "three", "two"]);
    expect(loads).toEqual([]);
  });

  it("keeps the transcripts of subagents", async () => {
    const store = make(place(kind));
    const { cwd, projectKey, env } = machine();
    const { session } = await ask(store, "subagent", { cwd, env });
    const of = { sessionStore: store, dir: cwd };
    expect(await store.listSubkeys({ projectKey, sessionId: session })).toEqual(["subagents/agent-a1"]);
    expect(await listSubagents(session, of)).toEqual(["a1"]);
    expect(await getSubagentMessages(session, "a1", of)).toHaveLength(1);
    expect(await listSessions(of)).toHaveLength(1);
    expect(await ask(store, "again", { cwd, env: machine().env, resume: session })).toMatchObject({
      result: "found 2",
    });
    await deleteSession(session, of);
    expect(await store.listSubkeys({ projectKey, sessionId: session })).toEqual([]);
  });

  it("a session is imported once, however often", async () => {
    const [store, theirs] = [make(place(kind)), new InMemorySessionStore()];
    const { cwd, projectKey, env } = machine();
    const { session } = await ask(theirs, "hello", { cwd, env });
    const before = process.env["CLAUDE_CONFIG_DIR"];
    process.env["CLAUDE_CONFIG_DIR"] = env["CLAUDE_CONFIG_DIR"];
    onTestFinished(() => {
      if (before === undefined) delete process.env["CLAUDE_CONFIG_DIR"];
      else process.env["CLAUDE_CONFIG_DIR"] = before;
    });
    for (let n = 0; n < 2; n++) await importSessionToStore(session, store, { dir: cwd });
    expect(await store.load({ projectKey, sessionId: session })).toHaveLength(2);
    expect(await listSessions({ sessionStore: store, dir: cwd })).toMatchObject([{ firstPrompt: "hello" }]);
  });

  it("appends that fail three times are told, and the turn succeeds", async () => {
    const store = make(place(kind));
    const { cwd, env } = machine();
    let left = 3;
    const failing: Theirs = {
      append: (key, entries) => (left-- > 0 ? Promise.reject(new Error("no")) : store.append(key, entries)),
      load: (key) => store.load(key),
    };
    expect(await ask(failing, "hello", { cwd, env })).toMatchObject({ result: "found 0", mirrorErrors: 1 });
    expect(await store.listProjects()).toEqual([]);
    left = 2;
    expect(await ask(failing, "hello", { cwd, env })).toMatchObject({ mirrorErrors: 0 });
    expect(await store.listProjects()).toHaveLength(1);
  });
});

/** Takes a turn in a process of its own, in which `forkpoint` finds the SDK beside it. */
function takeTurn(target: string, { cwd, env }: ReturnType<typeof machine>, given: string[], more: object = {}) {
  const args = ["--preserve-symlinks", "--preserve-symlinks-main", turn, target, ...given];
  return { args, env: { ...env, WORK: cwd, AGENT: agent, ...more } };
}

const answersOf = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { session?: string; result?: string; mirrorError?: true });

describe.each(sharedKinds)("the Claude Agent SDK over %s, over processes", (kind) => {
  it.skipIf(windows)(
    "a session goes on after its process was killed between two turns",
    { timeout: 120_000 },
    async () => {
      const target = place(kind);
      const first = takeTurn(target, machine(), ["hello"], { STAYS: "1" });
      const child = spawn(process.execPath, first.args, { env: first.env, stdio: ["ignore", "pipe", "inherit"] });
      let output = "";
      child.stdout.on("data", (text) => (output += text));
      await expect.poll(() => answersOf(output), { timeout: 60_000 }).toHaveLength(1);
      child.kill("SIGKILL");
      await once(child, "exit");
      const [{ session, result }] = answersOf(output) as [{ session: string; result: string }];
      expect(result).toBe("found 0");
      // The folder has the same name on the other machine.
      const next = takeTurn(target, { ...machine(), cwd: first.env.WORK }, ["again", session]);
      const done = spawnSync(process.execPath, next.args, { env: next.env, encoding: "utf8" });
      expect(answersOf(done.stdout), done.stderr).toEqual([{ session, result: "found 2" }]);
    },
  );
});

it("the store finds the SDK beside it, and says so if it is not there", () => {
  const program = `const { SessionStore } = require("forkpoint/claude-agent-sdk");
    console.log(typeof new SessionStore("memory:").listSessionSummaries);
    SessionStore.open("memory:").then(() => console.log("opened"), ({ code }) => console.log(code));`;
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const run = (...flags: string[]) => {
    const env = { ...process.env, NODE_OPTIONS: "" };
    const { stdout, stderr } = spawnSync(process.execPath, [...flags, "-e", program], { cwd, env, encoding: "utf8" });
    return { stderr, lines: stdout.trim().split("\n") };
  };
  expect(run("--preserve-symlinks")).toEqual({ stderr: "", lines: ["function", "opened"] });
  // The package is linked here, and has no SDK beside its own folder.
  expect(run()).toEqual({ stderr: "", lines: ["undefined", "UNSUPPORTED"] });
});

describe("a disk that is full", () => {
  it.skipIf(windows || everyKind.length > 3)(
    "is told as a mirror_error, and the turn ends",
    { timeout: 120_000 },
    () => {
      const target = join(folder(), "agent.db");
      const { args, env } = takeTurn(target, machine(), ["hello"]);
      const limited = `ulimit -f 8; exec "$0" "$@"`;
      const done = spawnSync("bash", ["-c", limited, process.execPath, ...args], { env, encoding: "utf8" });
      expect(answersOf(done.stdout), done.stderr).toMatchObject([{ mirrorError: true }, { result: "found 0" }]);
    },
  );
});
