// The command line on real threads of LangGraph in a terminal of 80 columns: a chat with tools, a refund that waits, a thread that
// failed, subgraphs and parallel tasks. Every view is read, and what it shortens is given back to the command line.
import { stepName } from "forkpoint/inspect";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "./command.js";
import { Log, says, sequence, temporary, thread } from "./helpers.js";

const { path: folder, remove } = temporary();
const path = join(folder, "agent.db");
afterAll(remove);

const [chat, pages] = [randomUUID(), randomUUID()];

function chatGraph(checkpointer: ForkpointSaver) {
  const answer = "The order left the warehouse on Monday, and 日本語 customers wait a little longer. ";
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => {
      const call = { name: "search_orders", args: { query: "order 17" }, id: `call_${messages.length}` };
      const asks = messages.at(-1) instanceof HumanMessage;
      return {
        messages: [asks ? new AIMessage({ content: "", tool_calls: [call] }) : new AIMessage(answer.repeat(3))],
      };
    })
    .addNode("tools", ({ messages }) => {
      const [call] = (messages.at(-1) as AIMessage).tool_calls!;
      const content = JSON.stringify({ orders: [{ id: 17, state: "shipped", by: "truck" }] });
      return { messages: [new ToolMessage({ content, tool_call_id: call!.id!, name: "search_orders" })] };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END))
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}

const Refund = Annotation.Root({ order: Annotation<string>, amount: Annotation<number>, reply: Annotation<string> });

function refundGraph(checkpointer: ForkpointSaver) {
  return sequence(Refund, {
    find_order: ({ order }) => {
      if (order === "fails") throw new Error(`there is no order: the shop answered 404 ${"Not Found ".repeat(12)}`);
      return { amount: 480 };
    },
    settle: ({ amount }) => {
      const args = { amount, reason: "it arrived broken, and the customer has asked for it three times" };
      return { reply: interrupt<object, string>({ question: "Refund?", tool: "refund", args }) };
    },
  }).compile({ checkpointer });
}

function pagesGraph(checkpointer: ForkpointSaver) {
  const sub = sequence(Log, { read: says("read") }).compile({ checkpointer: true });
  return new StateGraph(Log)
    .addNode("research", sub)
    .addNode("read_page", says("page"))
    .addNode("a_node_whose_name_takes_more_than_half_of_a_line", says("end"))
    .addEdge(START, "research")
    .addConditionalEdges("research", () => [1, 2, 3].map((page) => new Send("read_page", { log: [`${page}`] })))
    .addEdge("read_page", "a_node_whose_name_takes_more_than_half_of_a_line")
    .compile({ checkpointer });
}

beforeAll(async () => {
  const { ForkpointSaver: Saver } = await import("forkpoint/langgraph");
  const saver = new Saver(path);
  for (let n = 0; n < 15; n++) {
    const question = new HumanMessage(`Where is my order number ${n}?`);
    await chatGraph(saver).invoke({ messages: [question] }, thread(chat));
  }
  await refundGraph(saver).invoke({ order: "waits" }, thread("refund-waits"));
  await refundGraph(saver)
    .invoke({ order: "fails" }, thread("refund-fails"))
    .catch(() => {});
  await pagesGraph(saver).invoke({ log: [] }, thread(pages));
  for (let n = 0; n < 40; n++) await pagesGraph(saver).invoke({ log: [] }, thread(randomUUID()));
  await saver.close();
});

/** Runs a view. Without a number of columns, it writes to no terminal. */
const view = (columns: number | undefined, ...args: string[]) => run([...args, "--db", path], columns).stdout;

/** The columns that a text takes: characters of Chinese, Japanese and Korean take two. */
const widthOf = (text: string) => Array.from(text, (each) => (/[\u3000-\u9fff\uff00-\uffef]/.test(each) ? 2 : 1));

/** Runs a view at 80 columns, and returns its lines. */
function lines(...args: string[]): string[] {
  const all = view(80, ...args)
    .trimEnd()
    .split("\n");
  for (const line of all)
    expect(
      widthOf(line).reduce((sum: number, each) => sum + each, 0),
      line,
    ).toBeLessThanOrEqual(80);
  return all;
}

const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
const SIZE = String.raw`\d+(?:\.\d)? K?B`;

it("lists threads with their status, last step, time and size, and takes the short ids", () => {
  const [title, ...rows] = lines("ls");
  expect(title).toMatch(/^STATUS +RUN +.*STEPS +LAST STEP +ACTIVE +SIZE$/);
  expect(rows).toHaveLength(20);
  const shown = rows.map((row) => new RegExp(`^. \\w+ +(\\S+…) .* (?:just now|ago) +${SIZE}$`).exec(row)![1]!);
  for (const id of shown.slice(0, 3)) {
    const { run: found } = JSON.parse(view(undefined, "show", id, "--last", "1", "--json"));
    expect(found.run.startsWith(id.slice(0, -1))).toBe(true);
  }
  expect(view(undefined, "ls")).toMatch(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} /);
});

it.each([[[]], [["--last", "7"]], [["--limit", "9"]]])("shows steps with label, next, time and size: %j", (args) => {
  const shown = lines("show", chat, ...args);
  const at = shown.findIndex((line) => line.startsWith("STEP"));
  expect(shown[at]).toMatch(/^STEP +LABEL +NEXT +CHECKPOINT +SAVED +SIZE/);
  const row = new RegExp(`^ *(\\d+) +(\\S+) .*?(\\S+…) +${TIME} +${SIZE}`);
  const { checkpoints } = JSON.parse(view(undefined, "show", chat, "--json"));
  for (const line of shown.slice(at + 1)) {
    const [, step, label, short] = row.exec(line)!;
    const found = checkpoints.filter(({ id }: { id: string }) => id.startsWith(short!.slice(0, -1)));
    expect(found).toMatchObject([{ step: Number(step) }]);
    expect(stepName(found[0])).toBe(label);
  }
  const [, , , short] = row.exec(shown.at(-1)!)!;
  expect(JSON.parse(view(undefined, "get", chat, short!, "--json")).checkpoint.id).toBe(
    checkpoints.find(({ id }: { id: string }) => id.startsWith(short!.slice(0, -1))).id,
  );
});

it("draws a tree with labels and times", () => {
  for (const id of [chat, pages, "refund-waits"]) {
    const marked = lines("show", id, "--tree").filter((line) => line.startsWith("* "));
    expect(marked.length).toBeGreaterThanOrEqual(3);
    for (const line of marked) expect(line).toMatch(new RegExp(`^\\* +\\d+ +\\w+.* +\\S+… .*${TIME}$`));
  }
});

it("tails with time, step, label and size", () => {
  for (const line of lines("tail", "--no-follow", "-n", "60")) {
    expect(line).toMatch(new RegExp(`^${TIME}  \\S+ +step \\d+ +\\w.*? +${SIZE}$`));
  }
});

it("says why a thread stopped, in whole words", () => {
  expect(lines("show", "refund-waits").join(" ").replaceAll(/ +/g, " ")).toContain(
    "customer has asked for it three times",
  );
  expect(lines("show", "refund-fails").join("\n")).toMatch(/✗ failed[^]*there is no order: the shop answered 404/);
});

it.each([
  [["get", chat]],
  [["get", chat, "--part", "state"]],
  [["get", "refund-waits"]],
  [["get", "refund-fails", "--part", "writes"]],
  [["get", pages]],
  [["diff", chat]],
  [["diff", chat, "--step", "3"]],
  [["diff", chat, "--from-step", "2", "--to-step", "-1"]],
  [["diff", pages]],
  [["ls", "--all-ns"]],
  [["effects", chat]],
])("%j has no line of more than 80 columns", (args) => {
  expect(lines(...args).length).toBeGreaterThanOrEqual(1);
});
