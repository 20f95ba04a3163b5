// Kills real processes with SIGKILL, which leaves them no time to clean up.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { all, folder, open, thread } from "./helpers.js";

/** The files of a test: the database, and the journal of the nodes' effects. */
function files() {
  const path = folder();
  const database = join(path, "graph.db");
  const journal = join(path, "effects.log");
  const effects = () => {
    const lines = existsSync(journal) ? readFileSync(journal, "utf8").trimEnd().split("\n") : [];
    return lines.map((line) => ({ pid: Number(line.split(" ")[0]), node: line.split(" ")[1]! }));
  };
  return { database, journal, effects, ran: () => effects().map(({ node }) => node) };
}

type Stop = { STOP_AT: string; STOP?: "before" | "after" };

/** Starts the graph and kills its process while the node runs. */
async function killed(graph: string, { database, journal }: ReturnType<typeof files>, stop: Stop & NodeJS.ProcessEnv) {
  const child = new Child([database, journal, "run", graph, "thread"], stop);
  await child.until("stopped");
  expect(await child.kill()).toBe("SIGKILL");
  return child.pid;
}

/** Resumes the graph in another process. */
function resume(graph: string, { database, journal }: ReturnType<typeof files>, env: NodeJS.ProcessEnv = {}) {
  return new Child([database, journal, "resume", graph, "thread"], env);
}

const chain = ["one", "two", "three", "four", "five"];

describe.each(["one", "three", "five"])("a process killed while %s is executing", (node) => {
  const done = chain.slice(0, chain.indexOf(node));

  it("is resumed by a second process, and no node that had finished runs twice", async () => {
    const place = files();
    const first = await killed("chain", place, { STOP_AT: node });
    const second = resume("chain", place);
    expect(await second.end()).toEqual(["in", ...chain]);
    expect(place.effects()).toEqual([
      ...done.map((name) => ({ pid: first, node: name })),
      ...chain.slice(done.length).map((name) => ({ pid: second.pid, node: name })),
    ]);
  });

  it("repeats that node alone if its effect had happened and its checkpoint had not", async () => {
    const place = files();
    await killed("chain", place, { STOP_AT: node, STOP: "after" });
    const { next } = await stateOf(place.database);
    expect(next).toHaveLength(done.length + 2);
    expect(await resume("chain", place).end()).toEqual(["in", ...chain]);
    expect(place.ran()).toEqual([...done, node, ...chain.slice(done.length)]);
  });
});

/** Reads the checkpoints of the thread, the newest first. */
async function stateOf(database: string) {
  const checkpointer = open(database);
  const next = await all(checkpointer.list(thread()));
  await checkpointer.close();
  return { next };
}

it("of nodes that run at once, those that had finished do not run again", async () => {
  const place = files();
  const first = await killed("fan", place, { STOP_AT: "slow" });
  expect(place.ran().toSorted()).toEqual(["left", "right"]);
  const second = resume("fan", place);
  expect(await second.end()).toEqual(["in", "left", "right", "slow", "join"]);
  expect(place.effects().slice(2)).toEqual([
    { pid: second.pid, node: "slow" },
    { pid: second.pid, node: "join" },
  ]);
  expect(
    place
      .effects()
      .slice(0, 2)
      .map(({ pid }) => pid),
  ).toEqual([first, first]);
});

it("of a graph in a graph, the nodes that had finished do not run again", async () => {
  const place = files();
  await killed("nested", place, { STOP_AT: "second" });
  expect((await resume("nested", place).end())!.slice(-3)).toEqual(["first", "second", "last"]);
  expect(place.ran()).toEqual(["first", "second", "last"]);
});

it("of the functional API's tasks, those that had finished do not run again", async () => {
  const place = files();
  await killed("tasks", place, { STOP_AT: "second" });
  expect(await resume("tasks", place).end()).toEqual(["first", "second"]);
  expect(place.ran()).toEqual(["first", "second"]);
});

it("a question waits for its answer in a process that was not there when it was asked", async () => {
  const place = files();
  expect(await new Child([place.database, place.journal, "run", "asking", "thread"]).end()).toEqual(["in", "before"]);
  const answered = resume("asking", place, { ANSWER: "yes", STOP_AT: "after" });
  await answered.until("stopped");
  await answered.kill();
  // The answer is not lost when the process that received it is killed.
  expect(await resume("asking", place).end()).toEqual(["in", "before", "yes", "after"]);
  expect(place.ran()).toEqual(["before", "after"]);
});

it("under async durability a kill loses at most what was not stored yet, and never the order of it", async () => {
  const place = files();
  await killed("chain", place, { STOP_AT: "five", DURABILITY: "async" });
  const steps = (await stateOf(place.database)).next.map(({ metadata }) => metadata!.step);
  // There is no gap: every checkpoint before a stored one is stored too.
  expect(steps).toEqual(Array.from({ length: steps.length }, (_, i) => steps.length - 2 - i));
  expect(await resume("chain", place, steps.length === 0 ? {} : { DURABILITY: "async" }).end()).toEqual([
    "in",
    ...chain,
  ]);
});

describe("SqliteSaver: four processes on one database", () => {
  const names = ["a", "b", "c", "d"];
  const everything = (name: string, i: number) =>
    [0, 1, 2, 3, 4].flatMap((run) => [[`${name}-${i}-${run}`], chain]).flat();

  it.each(["sync", "async", "exit"])(
    "find it locked by each other, and lose nothing, durability %s",
    async (DURABILITY) => {
      const place = files();
      const children = names.map(
        (name) => new Child([place.database, place.journal, "many", "4", "5", name], { DURABILITY }),
      );
      await Promise.all(children.map((child) => child.end()));
      const checkpointer = open(place.database);
      for (const name of names) {
        for (let i = 0; i < 4; i++) {
          const listed = await all(checkpointer.list(thread(`${name}-${i}`)));
          expect(listed).toHaveLength(DURABILITY === "exit" ? 5 : 5 * 7);
          expect(listed[0]!.checkpoint.channel_values["log"]).toEqual(everything(name, i));
        }
      }
    },
  );
});
