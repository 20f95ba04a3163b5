// Tests withFaults: every call fails, waits or passes exactly where its rules say, and the store works as without it
// otherwise.
import { CheckpointStore, ForkpointError, openStore } from "forkpoint";
import { InMemoryStorage, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { withFaults } from "forkpoint/testing";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkpoint, failure, folder, open, rejection, thrown } from "../helpers.js";

const store = () => open("memory:");

describe("a call that rejects", () => {
  it("rejects at its number alone, with a ForkpointError, and the store does nothing", async () => {
    const faulty = withFaults(store(), [{ on: "save", nth: 2, reject: "BUSY" }]);
    await faulty.save(checkpoint({ id: "one" }));
    const error = await failure(faulty.save(checkpoint({ id: "two" })), "BUSY");
    await faulty.save(checkpoint({ id: "three" }));
    expect(error).toMatchObject({ name: "ForkpointError", retryable: true });
    expect(error.outcome).toBeUndefined();
    expect(error.message).toBe("before call 2 of save(), the test makes it fail");
    expect((await faulty.listByRun("run-1")).map(({ id }) => id).toSorted()).toEqual(["one", "three"]);
  });

  it('is carried out with `when: "after"`, and its error says that the outcome is unknown', async () => {
    const faulty = withFaults(store(), [{ on: "save", nth: [1], when: "after", reject: "UNAVAILABLE" }]);
    const error = await failure(faulty.save(checkpoint({ id: "one" })), "UNAVAILABLE");
    expect([error.outcome, error.retryable]).toEqual(["unknown", true]);
    expect((await faulty.get("one"))!.id).toBe("one");
  });

  it("rejects with the fields that the rule gives", async () => {
    const given = { code: "FULL", message: "the disk is full", retryable: true, outcome: "unknown" } as const;
    const faulty = withFaults(store(), [{ on: "save", reject: given }]);
    expect(await failure(faulty.save(checkpoint()), "FULL")).toMatchObject(given);
  });

  it("rejects with the very error that the rule gives", async () => {
    const given = new Error("mine");
    expect(await rejection(withFaults(store(), [{ on: "get", reject: given }]).get("one"))).toBe(given);
  });

  it("is counted with the calls of the rule's other methods, and for each rule separately", async () => {
    const faulty = withFaults(store(), [
      { on: ["get", "latest"], nth: [2, 3], reject: "BUSY" },
      { on: "latest", nth: 2, reject: "CORRUPT" },
    ]);
    const codes = [];
    for (const method of ["get", "latest", "get", "latest", "latest"] as const) {
      codes.push(await faulty[method]("none").catch(({ code }: ForkpointError) => code));
    }
    expect(codes).toEqual([null, "BUSY", "BUSY", "CORRUPT", null]);
  });

  it("does not count the calls with which the store itself uses the method", async () => {
    const faulty = withFaults(store(), [{ on: "load", reject: "BUSY" }]);
    // latest() calls load().
    expect(await faulty.latest("run-1")).toBeNull();
  });

  it("rejects with its own error if the store fails by itself", async () => {
    const faulty = withFaults(store(), [{ on: "fork", when: "after", reject: "BUSY" }]);
    await failure(faulty.fork("no such checkpoint"), "NOT_FOUND");
  });
});

describe("a call that waits", () => {
  it("begins at once, and settles later", async () => {
    const faulty = withFaults(store(), [{ on: ["save", "get"], delayMs: 80 }]);
    const mutable = checkpoint({ id: "one", visitedNodes: ["a"] });
    const began = performance.now();
    const saved = faulty.save(mutable);
    mutable.visitedNodes.push("too late");
    await saved;
    // A timer may fire a fraction of a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(78);
    expect((await faulty.get("one"))!.visitedNodes).toEqual(["a"]);
    expect(performance.now() - began).toBeGreaterThan(157);
  });

  it("rejects later too", async () => {
    const faulty = withFaults(store(), [
      { on: "save", delayMs: 80 },
      { on: "save", reject: "BUSY" },
    ]);
    const began = performance.now();
    await failure(faulty.save(checkpoint()), "BUSY");
    expect(performance.now() - began).toBeGreaterThan(78);
  });
});

describe("a method that returns an asynchronous iterator", () => {
  class Source {
    async *list(count: number): AsyncGenerator<number> {
      for (let at = 0; at < count; at++) yield at;
    }
    late(): AsyncIterable<number> {
      return this.list(2);
    }
  }

  async function read(items: AsyncIterable<number>): Promise<unknown[]> {
    const found: unknown[] = [];
    try {
      for await (const item of items) found.push(item);
    } catch (error) {
      found.push((error as ForkpointError).code);
    }
    return found;
  }

  it("fails before its first item, or after its last", async () => {
    const faulty = withFaults(new Source(), [
      { on: "list", nth: 1, reject: "BUSY" },
      { on: "list", nth: 2, when: "after", reject: "BUSY" },
      { on: "late", when: "after", reject: "FULL" },
      { on: "list", nth: 3, delayMs: 60 },
    ]);
    expect(await read(faulty.list(2))).toEqual(["BUSY"]);
    expect(await read(faulty.list(2))).toEqual([0, 1, "BUSY"]);
    const began = performance.now();
    expect(await read(faulty.list(2))).toEqual([0, 1]);
    expect(performance.now() - began).toBeGreaterThan(58);
    expect(await read(faulty.late())).toEqual([0, 1, "FULL"]);
    expect(await read(faulty.list(1))).toEqual([0]);
  });
});

describe("the wrapper", () => {
  it("has everything that the store has, and its methods stay the same functions", async () => {
    class Mine {
      #secret = 1;
      label = "a";
      get secret() {
        return this.#secret;
      }
      set secret(value: number) {
        this.#secret = value;
      }
      async add(more: number) {
        return (this.#secret += more);
      }
    }
    const mine = new Mine();
    const faulty = withFaults(mine, [{ on: "add", nth: 9, reject: "BUSY" }]);
    faulty.secret = 5;
    faulty.label = "b";
    expect([await faulty.add(2), mine.secret, faulty.secret, mine.label]).toEqual([7, 7, 7, "b"]);
    expect(faulty.add).toBe(faulty.add);
    expect([faulty.add.name, faulty.add.length, "add" in faulty, Object.keys(faulty)]).toEqual([
      "add",
      1,
      true,
      ["label"],
    ]);
    // A method works without its object.
    const { add } = faulty;
    expect(await add(1)).toBe(8);
  });

  it("is an instance of the classes that its class extends", () => {
    class Base {
      async load() {}
    }
    class Derived extends Base {
      async save() {}
    }
    const faulty = withFaults(new Derived(), []);
    expect([faulty instanceof Base, faulty instanceof Derived, faulty.constructor]).toEqual([true, false, Derived]);
  });

  it("wraps plain objects, and leaves them as they are", async () => {
    const plain = {
      async save(value: number) {
        return value;
      },
    };
    const faulty = withFaults(plain, [{ on: "save", reject: "BUSY" }]);
    await failure(faulty.save(1), "BUSY");
    expect(await plain.save(1)).toBe(1);
    expect(faulty instanceof Object).toBe(true);
  });

  it("is closed as the store is", async () => {
    const inner = store();
    {
      await using faulty = withFaults(inner, []);
      await faulty.save(checkpoint());
    }
    await failure(inner.latest("run-1"), "CLOSED");
  });

  it("of an open store has its methods, and is refused as a target", async () => {
    await using shared = await openStore("memory:");
    const faulty = withFaults(shared, [{ on: "stats", reject: "BUSY" }]);
    await failure(faulty.stats(), "BUSY");
    expect((await faulty.check()).ok).toBe(true);
    expect(thrown(() => new CheckpointStore(faulty)).message).toContain(
      "target must be a path, a URL or an open store",
    );
  });
});

describe("the frameworks of this package", () => {
  it("a workflow retries nothing that its store refuses, and continues after it", async () => {
    const inner = new WorkflowCheckpointStore<{ done: string[] }>(`${folder()}/agent.db`);
    const ran: string[] = [];
    const step = (name: string) => ({
      name,
      run: async ({ done }: { done: string[] }) => {
        ran.push(name);
        return { done: [...done, name] };
      },
    });
    const workflow = (checkpointStore: typeof inner) =>
      new Workflow({
        name: "w",
        initialState: { done: [] as string[] },
        steps: [step("a"), step("b")],
        checkpointStore,
      });
    const faulty = withFaults(inner, [{ on: "save", nth: 2, reject: "FULL" }]);
    await failure(workflow(faulty).runWithCheckpoints({ runId: "run-1" }), "FULL");
    const { state } = await workflow(inner).runWithCheckpoints({ runId: "run-1", resume: true });
    expect([state.done, ran]).toEqual([
      ["a", "b"],
      ["a", "b", "b"],
    ]);
    await inner.close();
  });

  it("a graph fails with the error of its checkpointer, and continues after it", async () => {
    const inner = new Checkpointer<{ n: number }>("memory:");
    const graph = (checkpointer: typeof inner) =>
      new Graph<{ n: number }>({
        nodes: { one: ({ n }) => ({ n: n + 1 }), two: ({ n }) => ({ n: n * 10 }) },
        entry: "one",
        edges: [["one", "two"]],
        reducer: (state, update) => ({ ...state, ...update }),
        checkpointer,
      });
    const faulty = withFaults(inner, [{ on: ["put", "putWrites"], nth: 2, reject: "FULL" }]);
    const failed = await rejection(graph(faulty).invoke({ n: 1 }, { threadId: "thread-1" }));
    expect(failed.code).toBe("FULL");
    const result = await graph(inner).resume("thread-1");
    expect(result.state).toEqual({ n: 20 });
    await inner.close();
  });

  it("sessions and storage drivers", async () => {
    await using sessions = withFaults(new SessionStore("memory:"), [{ on: "appendMessages", nth: 1, reject: "BUSY" }]);
    await sessions.createSession("session-1", { agentType: "planner" });
    const append = () => sessions.appendMessages("session-1", [{ role: "user", content: "hi" }]);
    await failure(append(), "BUSY");
    await append();
    expect(await sessions.getMessageCount("session-1")).toBe(1);
    const storage = withFaults(new InMemoryStorage(), [{ on: "get", reject: "BUSY" }]);
    await failure(storage.get("a", "b"), "BUSY");
  });
});

describe("a wrong rule is refused", () => {
  const wrap = (...faults: unknown[]) => thrown(() => withFaults(store(), faults as never));

  it.each<[string, unknown, string]>([
    ["an unknown field", { on: "save", rejct: "BUSY" }, 'Unknown option "rejct". Did you mean "reject"?'],
    ["an unknown method", { on: "svae", reject: "BUSY" }, 'has no method "svae". Did you mean "save"?'],
    ["an unknown code", { on: "save", reject: "BUZY" }, '"BUZY". Did you mean "BUSY"?'],
    ["an unknown moment", { on: "save", when: "aftr", kill: true }, '"aftr". Did you mean "after"?'],
    ["no method", { reject: "BUSY" }, 'must name one or more methods in "on"'],
    ["an empty list of methods", { on: [], kill: true }, "at least one method"],
    ["no action", { on: "save" }, "exactly one of reject, delayMs, kill, but has 0"],
    ["two actions", { on: "save", reject: "BUSY", delayMs: 1 }, "exactly one of reject, delayMs, kill, but has 2"],
    ["a moment of a delay", { on: "save", delayMs: 1, when: "after" }, 'takes no "when"'],
    ["call 0", { on: "save", nth: 0, kill: true }, "from 1"],
    ["a fraction of a call", { on: "save", nth: [1.5], kill: true }, "from 1"],
    ["no call", { on: "save", nth: [], kill: true }, "at least one number"],
    ["a negative delay", { on: "save", delayMs: -1 }, "from 0"],
    ["kill: false", { on: "save", kill: false }, "must be true"],
    ["an error without a code", { on: "save", reject: { message: "x" } }, 'must have a code, such as "BUSY"'],
    ["an unknown field of an error", { on: "save", reject: { code: "BUSY", retriable: true } }, '"retryable"'],
  ])("%s", (_, fault, message) => {
    const error = wrap({ on: "get", delayMs: 0 }, fault);
    expect(error.message).toContain(message);
    expect(error.code).toBe("INVALID_ARGUMENT");
  });

  it("rules that are no list, and a store that is no object", () => {
    expect(thrown(() => withFaults(store(), {} as never)).message).toContain("faults must be an array");
    expect(thrown(() => withFaults(null as never, [])).message).toContain("must be an object with methods");
    const frozen = Object.freeze({ save: async () => {} });
    expect(thrown(() => withFaults(frozen, [{ on: "save", kill: true }])).message).toContain("frozen");
  });

  it("a rule for a method that returns no promise, when it is called", () => {
    const plain = { size: () => 3, save: async () => {} };
    const faulty = withFaults(plain, [{ on: "size" as "save", delayMs: 1 }]);
    expect(thrown(() => faulty.size()).message).toContain("size() returned no promise");
  });

  it("a method name that the type does not have", () => {
    // @ts-expect-error CheckpointStore has no method put.
    expect(thrown(() => withFaults(store(), [{ on: "put", reject: "BUSY" }])).message).toContain('no method "put"');
  });
});

it("a store without rules, in a process that no runner started, never fails", async () => {
  const faulty = withFaults(store());
  await faulty.save(checkpoint({ id: "one" }));
  expect((await faulty.get("one"))!.id).toBe("one");
});

describe("the writes of an effect", () => {
  const run = { space: "agentos", run: "r" };

  it("fail at the claim, at the record, or after it", async () => {
    const shared = store();
    const faults = [
      { on: "beginEffect", nth: 1, reject: "BUSY" },
      { on: "endEffect", nth: 1, reject: "FULL" },
      { on: "endEffect", nth: 2, when: "after", reject: "UNAVAILABLE" },
    ] as const;
    const once = effects(withFaults(shared, faults));
    const keys: string[] = [];
    const call = ({ idempotencyKey }: EffectAttempt) => keys.push(idempotencyKey);
    const pay = () => once(run, "charge", call);
    await failure(pay(), "BUSY");
    expect(keys).toHaveLength(0);
    await failure(pay(), "FULL");
    expect(await once.list(run)).toMatchObject([{ state: "unknown", attempts: 1 }]);
    // The effect is tried again with the same key, before its claim expires.
    expect((await failure(pay(), "UNAVAILABLE")).outcome).toBe("unknown");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(await pay()).toBe(2);
    expect(keys).toHaveLength(2);
  });

  it("are those of a store of this package alone", () => {
    const other = { save: async () => {} };
    expect(thrown(() => withFaults(other, [{ on: "endEffect", reject: "BUSY" }])).message).toContain("endEffect");
  });
});
