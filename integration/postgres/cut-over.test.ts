// Migrating from PostgresSaver without downtime, with the programs of the guide. docs.test.ts runs the guide itself.
// @module-tag slow
import "./setup.js";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { recover } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { write } from "../../__test__/pages.js";
import { readPage, snippetsOf } from "../../__test__/snippets.js";
import { open, thread } from "../langgraph/helpers.js";
import { makeDatabase, poolOf } from "./databases.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// The programs find the packages here, as in a user's project.
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
// graph.mjs, import.mjs, old.mjs and new.mjs
for (const { file, code } of snippetsOf(readPage("docs/migrate-postgres-saver.md")))
  if (file !== undefined) write(code, join(folder, basename(file, ".mts")));

let graphOf: (checkpointer: unknown) => any;

/** The old program. It runs its threads in turn until a line of its input tells it to leave one, or to end. */
const oldProgram = `
  import { createInterface } from "node:readline";
  import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
  import { builder } from "./graph.mjs";
  const old = PostgresSaver.fromConnString(process.env.DATABASE_URL);
  const graph = builder.compile({ checkpointer: old });
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
      const messages = [{ role: "user", content: "old " + turn }];
      if (threads.has(thread_id)) await graph.invoke({ messages }, { configurable: { thread_id } });
    }
    console.log("turn " + turn);
  }
  await old.end();
  process.exit();
`;

/** The new program of the guide, which runs a thread for each line of its input. */
function newProgram(): string {
  const code = readFileSync(join(folder, "new.mjs"), "utf8");
  const end = code.indexOf("const [threadId, content] = ");
  expect(end).toBeGreaterThan(0);
  return `import { createInterface } from "node:readline";
    ${code.slice(0, end)}
    for await (const line of createInterface({ input: process.stdin })) {
      const [threadId, content] = line.split(": ");
      console.log(JSON.stringify((await run(threadId, content)).messages.map(({ text }) => text)));
    }
    await saver.close();
    await old.end();`;
}

function start(code: string, args: string[], env: object) {
  const file = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(file, code);
  const program = new Program([file, ...args], { env, deadlineMs: 240_000 });
  let read = 0;
  /** Waits for the next line that fits. */
  const until = async (answer: RegExp) => {
    for (;;) {
      read += 1;
      await program.until(read);
      const line = program.lines[read - 1]!;
      if (answer.test(line)) return line;
    }
  };
  /** Sends a line, and returns the program's answer. */
  const ask = (line: string, answer = /./) => (program.tell(line), until(answer));
  return { program, until, ask };
}

/** Runs the guide's import to its end, and returns the lines that it printed. */
async function importAll(env: object): Promise<string[]> {
  const { code, errors, lines } = await new Program([join(folder, "import.mjs")], { env }).ended;
  const shown = errors.replace(/^.*(NOT_DURABLE|--trace-warnings).*\n/gm, "");
  expect({ code, shown }).toEqual({ code: 0, shown: "" });
  return lines;
}

async function database() {
  const env = { DATABASE_URL: makeDatabase() };
  const old = new PostgresSaver(poolOf(env.DATABASE_URL));
  await old.setup();
  return { env, old };
}

async function textsOf(saver: unknown, id: string): Promise<string[]> {
  return (await graphOf(saver).getState(thread(id))).values.messages.map(({ text }: { text: string }) => text);
}

/** What the guide's model says when it gets so many messages. */
const answerAt = (messages: number) => `Messages so far: ${messages}.`;

const input = (content: string) => ({ messages: [{ role: "user", content }] });

beforeAll(async () => {
  const { builder } = await import(pathToFileURL(join(folder, "graph.mjs")).href);
  graphOf = (checkpointer) => builder.compile({ checkpointer });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("threads move while both programs run", { timeout: 240_000 }, async () => {
  const { env, old } = await database();
  const ids = Array.from({ length: 8 }, (_, n) => `thread ${n}`);
  const before = start(oldProgram, [...ids, "both"], env);
  await before.until(/^turn 2$/);
  expect(await importAll(env)).toEqual(["9 of 9 threads"]);
  const after = start(newProgram(), [], env);
  const moved = ids.slice(0, 5);
  for (const id of moved) {
    await before.ask(id, new RegExp(`^left ${id}$`));
    const told = await textsOf(old, id);
    const texts = JSON.parse(await after.ask(`${id}: new`)) as string[];
    expect(texts).toEqual([...told, "new", answerAt(told.length + 1)]);
    expect(JSON.parse(await after.ask(`${id}: more`))).toEqual([...texts, "more", answerAt(texts.length + 1)]);
  }
  await after.ask("both: new");
  const turn = Number((await before.until(/^turn/)).slice("turn ".length));
  await before.until(new RegExp(`^turn ${turn + 2}$`));
  before.program.tell("end");
  expect(await before.program.ended).toMatchObject({ code: 0, signal: null });

  const saver = open(env.DATABASE_URL);
  const both = await textsOf(saver, "both");
  expect(await importAll(env)).toEqual(["8 of 9 threads", "skipped both: changed in both"]);
  for (const id of moved)
    expect((await textsOf(saver, id)).filter((text) => /new|more/.test(text))).toEqual(["new", "more"]);
  for (const id of ids.slice(5)) expect(await textsOf(saver, id)).toEqual(await textsOf(old, id));
  expect(await textsOf(saver, "both")).toEqual(both);
  expect(await saver.check()).toMatchObject({ ok: true });

  // What the guide says of a skipped thread.
  await saver.copyThread("both", "both-new");
  await saver.deleteThread("both");
  expect(await saver.importPostgresSaver(old as never, { threads: ["both"] })).toMatchObject({
    threads: 1,
    skipped: 0,
  });
  expect(await textsOf(saver, "both")).toEqual(await textsOf(old, "both"));
  expect(await textsOf(saver, "both-new")).toEqual(both);
  expect(await importAll(env)).toEqual(["9 of 9 threads"]);
  const last = await textsOf(old, "thread 7");
  expect(JSON.parse(await after.ask("thread 7: new"))).toEqual([...last, "new", answerAt(last.length + 1)]);
});

it.each([{ program: "support" }, {}])(
  "a run that the old program has not finished is resumed if it is named: %j",
  async (options) => {
    const { env, old } = await database();
    await graphOf(old).invoke(input("hello"), { ...thread("cut"), interruptBefore: ["model"] });
    const saver = open(env.DATABASE_URL, options);
    await saver.importPostgresSaver(old as never);
    const graph = graphOf(saver);
    const { runs } = await recover(graph as never, saver);
    expect(runs).toMatchObject([{ threadId: "cut", outcome: "skipped", why: "unknown origin" }]);
    const named = await recover(graph as never, saver, { threads: ["cut"] });
    expect(named.runs).toMatchObject([{ threadId: "cut", outcome: "finished" }]);
    expect(await textsOf(saver, "cut")).toEqual(["hello", answerAt(1)]);
  },
);
