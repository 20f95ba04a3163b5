// Moving from PostgresSaver without a stop, as the guide describes it, with the guide's own programs.
// @module-tag slow
import "./setup.js";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { recover } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { documents, problemsOf, snippetsOf, writeSnippets } from "../../__test__/snippets.js";
import * as fixtures from "../langgraph/fixtures/notes.mjs";
import { open, thread } from "../langgraph/helpers.js";
import { makeDatabase } from "./databases.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// The snippets find the packages here, as in a user's project.
const folder = mkdtempSync(here("./.snippets-"));
for (const [name, from] of [
  ["forkpoint", "../langgraph/node_modules/forkpoint"],
  ["@langchain/langgraph", "../langgraph/node_modules/@langchain/langgraph"],
  ["@langchain/langgraph-checkpoint-postgres", "node_modules/@langchain/langgraph-checkpoint-postgres"],
] as const) {
  const link = join(folder, "node_modules", name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(here(from), link, "junction");
}

const found = documents
  .flatMap((document) => snippetsOf(document, folder))
  .filter(({ code }) => code.includes("checkpoint-postgres"));
const [importing, fetching] = found;

/** The lines of the guide's console block, by the program that prints them. */
function printed(): string[][] {
  const text = documents.map((document) => readFileSync(here(`../../${document}`), "utf8")).join("\n");
  const block = /```console\n(\$ node import\.mjs[^]*?)```/.exec(text)![1]!;
  return block
    .split(/^\$ .*\n/m)
    .slice(1)
    .map((lines) => lines.trimEnd().split("\n"));
}

const graphOf = fixtures.notes as (checkpointer: unknown) => any;

/** The old program. It runs its threads in turn until a line of its input tells it to leave one, or to end. */
const oldProgram = `
  import { createInterface } from "node:readline";
  import { Annotation, START, StateGraph } from "@langchain/langgraph";
  import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
  const old = PostgresSaver.fromConnString(process.env.OLD_DATABASE_URL);
  const State = Annotation.Root({ notes: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
  const graph = new StateGraph(State)
    .addNode("answer", ({ notes }) => ({ notes: ["answer to " + notes.at(-1)] }))
    .addEdge(START, "answer")
    .compile({ checkpointer: old });
  const threads = new Set(process.argv.slice(2));
  const leaving = [];
  let ends = false;
  createInterface({ input: process.stdin }).on("line", (line) => {
    if (line === "end") ends = true;
    else leaving.push(line);
  });
  for (let turn = 0; !ends; turn++) {
    for (const thread_id of [...threads]) {
      while (leaving.length > 0) {
        threads.delete(leaving[0]);
        console.log("left " + leaving.shift());
      }
      if (threads.has(thread_id)) await graph.invoke({ notes: ["old " + turn] }, { configurable: { thread_id } });
    }
    console.log("turn " + turn);
  }
  await old.end();
  process.exit();
`;

/** The new program of the guide, which runs a thread for each line of its input. */
function newProgram(): string {
  const code = readFileSync(`${fetching!.file}.mjs`, "utf8");
  const end = code.indexOf("const { notes } = await run(");
  expect(end).toBeGreaterThan(0);
  return `import { createInterface } from "node:readline";
    ${code.slice(0, end)}
    for await (const line of createInterface({ input: process.stdin })) {
      const [threadId, note] = line.split(": ");
      console.log(JSON.stringify((await run(threadId, note)).notes));
    }
    await saver.close();
    await old.end();`;
}

interface Running {
  child: ChildProcess;
  /** Sends a line, and returns the program's answer: the next line that fits. */
  ask(line: string, answer?: RegExp): Promise<string>;
  until(answer: RegExp): Promise<string>;
}

function start(code: string, args: string[], env: Record<string, string>): Running {
  const file = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file, ...args], {
    cwd: folder,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const until = async (answer: RegExp) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the program ended before it printed ${answer}`);
      if (answer.test(value as string)) return value as string;
    }
  };
  return {
    child,
    until,
    ask(line, answer = /./) {
      child.stdin!.write(`${line}\n`);
      return until(answer);
    },
  };
}

/** Runs a program to its end, and returns the lines that it printed. */
async function run(file: string, env: Record<string, string>): Promise<string[]> {
  const child = spawn(process.execPath, [`${file}.mjs`], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [status] = (await once(child, "close")) as [number];
  expect({ status, stderr: stderr.replace(/^.*(NOT_DURABLE|--trace-warnings).*\n/gm, "") }).toEqual({
    status: 0,
    stderr: "",
  });
  return stdout.trimEnd().split("\n");
}

function databases() {
  const env = { OLD_DATABASE_URL: makeDatabase(), DATABASE_URL: makeDatabase() };
  const old = PostgresSaver.fromConnString(env.OLD_DATABASE_URL);
  onTestFinished(() => old.end());
  return { env, old };
}

async function notesOf(saver: unknown, id: string): Promise<string[]> {
  return (await graphOf(saver).getState(thread(id))).values.notes;
}

beforeAll(() => writeSnippets(found));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("the guide's programs compile under strict", { timeout: 120_000 }, () => {
  expect(found).toHaveLength(2);
  expect(problemsOf(found)).toEqual([]);
});

it("the guide's programs print what it shows", { timeout: 120_000 }, async () => {
  const { env, old } = databases();
  await old.setup();
  const say = (id: string, note: string) => graphOf(old).invoke({ notes: [note] }, thread(id));
  await say("customer-7", "Open on Saturday?");
  await say("customer-9", "Hello");
  const [first, second, third] = printed();
  expect(await run(importing!.file, env)).toEqual(first);
  expect(await run(fetching!.file, env)).toEqual(second);
  const saver = open(env.DATABASE_URL);
  await graphOf(saver).invoke({ notes: ["new"] }, thread("customer-9"));
  await say("customer-9", "old");
  await say("customer-11", "Hello");
  expect(await run(importing!.file, env)).toEqual(third);
});

it("threads move while both programs run", { timeout: 240_000 }, async () => {
  const { env, old } = databases();
  await old.setup();
  const ids = Array.from({ length: 8 }, (_, n) => `thread ${n}`);
  const before = start(oldProgram, [...ids, "both"], env);
  await before.until(/^turn 2$/);
  expect(await run(importing!.file, env)).toEqual(["9 of 9 threads"]);
  const after = start(newProgram(), [], env);
  const moved = ids.slice(0, 5);
  for (const id of moved) {
    await before.ask(id, new RegExp(`^left ${id}$`));
    const told = await notesOf(old, id);
    const notes = JSON.parse(await after.ask(`${id}: new`)) as string[];
    expect(notes).toEqual([...told, "new", "answer to new"]);
    expect(JSON.parse(await after.ask(`${id}: more`))).toEqual([...notes, "more", "answer to more"]);
  }
  await after.ask("both: new");
  const turn = Number((await before.until(/^turn/)).slice("turn ".length));
  await before.until(new RegExp(`^turn ${turn + 2}$`));
  before.child.stdin!.write("end\n");
  expect(await once(before.child, "close")).toEqual([0, null]);

  const saver = open(env.DATABASE_URL);
  const both = await notesOf(saver, "both");
  expect(await run(importing!.file, env)).toEqual(["8 of 9 threads", "skipped both: changed in both"]);
  for (const id of moved)
    expect((await notesOf(saver, id)).slice(-4)).toEqual(["new", "answer to new", "more", "answer to more"]);
  for (const id of ids.slice(5)) expect(await notesOf(saver, id)).toEqual(await notesOf(old, id));
  expect(await notesOf(saver, "both")).toEqual(both);
  expect(await saver.check()).toMatchObject({ ok: true });

  // What the guide says of a skipped thread.
  await saver.copyThread("both", "both, new");
  await saver.deleteThread("both");
  expect(await saver.importPostgresSaver(old as never, { threads: ["both"] })).toMatchObject({
    threads: 1,
    skipped: 0,
  });
  expect(await notesOf(saver, "both")).toEqual(await notesOf(old, "both"));
  expect(await notesOf(saver, "both, new")).toEqual(both);
  expect(await run(importing!.file, env)).toEqual(["9 of 9 threads"]);
  expect(JSON.parse(await after.ask("thread 7: new"))).toEqual([
    ...(await notesOf(old, "thread 7")),
    "new",
    "answer to new",
  ]);
});

it.each([{ program: "support" }, {}])(
  "a run that the old program has not finished is resumed if it is named: %j",
  async (options) => {
    const { env, old } = databases();
    await old.setup();
    const cut = { ...thread("cut"), interruptBefore: ["answer" as const] };
    await graphOf(old).invoke({ notes: ["hello"] }, cut);
    const saver = open(env.DATABASE_URL, options);
    await saver.importPostgresSaver(old as never);
    const graph = graphOf(saver);
    const { runs } = await recover(graph as never, saver);
    expect(runs).toMatchObject([{ threadId: "cut", outcome: "skipped", why: "unknown origin" }]);
    const named = await recover(graph as never, saver, { threads: ["cut"] });
    expect(named.runs).toMatchObject([{ threadId: "cut", outcome: "finished" }]);
    expect(await notesOf(saver, "cut")).toEqual(["hello", "answer to hello"]);
  },
);
