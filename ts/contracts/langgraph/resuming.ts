/** The answers that a run knows when it begins. The run compares its program's answers with them. */

import type { CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";
import { isDeepStrictEqual } from "node:util";
import { isOvertaken } from "../../bridge/errors.js";
import type { NativeStore } from "../../bridge/native.js";
import { type AnswerRecord, ANSWERS, NOTHING, NO_TASK, RESUME, keyOf, recordsOf } from "./answer-records.js";
import { hasAnswer } from "../../store/answered.js";
import type { CheckpointRef } from "./config.js";
import { type ThreadQuestion, answeredLevels, asking, placeIn, questionsAt, recordOf } from "./questions.js";
import { dump } from "./serde.js";
import type { Context } from "./tasks.js";
import { find, refOf } from "./tuples.js";
import { type Found, type Needs, langgraph } from "./wire.js";
import { type IndexedWrite, type Task, putWrites, writeFields } from "./writing.js";

/** An answer that the run has begun with. */
interface Given {
  question: ThreadQuestion;
  /** The answers of the task, in LangGraph's form. Undefined until LangGraph has read them. */
  list: unknown[] | undefined;
}

/** An answer of a program, and the open questions that it answers. */
export interface Taken {
  value: unknown;
  program: "all" | "id";
  questions: ThreadQuestion[];
}

/** How many times an answer is compared again because another answer was stored in between. */
const ATTEMPTS = 10;

export class Resuming {
  /** Why an answer of the program was not stored. */
  refused: unknown;
  /** True if the program's answer was noticed before LangGraph hands it over: see heard-answers.ts. */
  isHeard = false;
  readonly #context: Context;
  readonly #root: CheckpointRef;
  #questions: ThreadQuestion[];
  /** The number of answer records of the checkpoint. */
  #records: number;
  /** The answers that the run gets, by their questions. */
  readonly #given = new Map<string, Given>();
  /** True if LangGraph's own write of an answer to all questions has records that name the questions. */
  readonly #isRecorded: boolean;
  /** The questions whose answers this run has. */
  readonly #own = new Set<string>();
  #storing: Promise<void> | undefined;

  private constructor(context: Context, root: Found, questions: ThreadQuestion[], records: AnswerRecord[]) {
    this.#context = context;
    this.#root = refOf(root.header);
    this.#questions = questions;
    this.#records = records.length;
    this.#isRecorded = records.some(({ program }) => program === "all");
  }

  /**
   * Reads the answers of a thread whose newest checkpoint is `root`. A program's answer by id is only for the program's
   * own run, unless `recovers` is true.
   */
  static async at(context: Context, root: Found, recovers: boolean): Promise<Resuming> {
    const [questions, records] = [await questionsAt(context, root), await recordsOf(context.serde, root)];
    const made = new Resuming(context, root, questions, records);
    for (const question of records.length > 0 ? questions : []) {
      const { answered } = question;
      if (answered?.task !== asking(question) || (answered.program === "id" && !recovers)) continue;
      made.#own.add(placeIn(question));
      made.#given.set(placeIn(question), { question, list: undefined });
    }
    return made;
  }

  /** Adds the answers to a checkpoint that LangGraph reads in this run. */
  amend(tuple: CheckpointTuple, { header: { namespace, id } }: Found): CheckpointTuple {
    const shown = (tuple.pendingWrites ?? []).filter((write) => !this.#isRecorded || !isAnswerToAll(write));
    for (const given of this.#given.values()) {
      const { levels, used, answered } = given.question;
      const { found, task } = levels.at(-1)!;
      if (found.header.namespace !== namespace || found.header.id !== id) continue;
      const held = shown.find(([of, channel]) => of === task.task && channel === RESUME.channel);
      const list = held === undefined ? [] : [held[2]].flat(1);
      // A task that was retried in this run has used the answer.
      if (list.length !== used.length) continue;
      given.list = [...list, answered!.value];
      const at = shown.findIndex(([of]) => of === task.task);
      shown.splice(at, held === undefined ? 0 : 1, [task.task, RESUME.channel, given.list]);
    }
    return { ...tuple, pendingWrites: shown };
  }

  /**
   * Takes an answer of the program before LangGraph runs a node. Returns undefined if the writes have no answer.
   *
   * @throws ForkpointError `CONFLICT` if another answer is stored.
   */
  take(namespace: string, writes: readonly PendingWrite[], task: string): Taken | undefined {
    const resume = writes.find(([channel]) => channel === RESUME.channel);
    if (namespace !== "" || resume === undefined) return undefined;
    const program = task === NO_TASK ? "all" : "id";
    const meant = this.#questions.filter((question) => program === "all" || question.id === task);
    if (meant.length === 0) return undefined;
    // For an answer by id, LangGraph passes a list that ends with the answer.
    const value: unknown = program === "all" ? resume[1] : (resume[1] as unknown[]).at(-1);
    const open = this.#compared(meant, value);
    // LangGraph passes the program's own answer to the task.
    for (const question of meant) {
      this.#own.add(placeIn(question));
      const given = this.#given.get(placeIn(question));
      given?.list?.pop();
      this.#given.delete(placeIn(question));
    }
    return { value, program, questions: open.filter(hasNotFailed) };
  }

  /** Returns the unanswered questions. Throws if a question has a different answer. */
  #compared(questions: readonly ThreadQuestion[], value: unknown): ThreadQuestion[] {
    const other = questions.find(({ answered }) => answered !== null && !isSame(answered.value, value));
    if (other !== undefined) throw hasAnswer(this.#root.threadId, other.answered!);
    return questions.filter(({ answered }) => answered === null);
  }

  /** Stores LangGraph's writes of an answer together with its records, in one transaction, when `tasks` resolves. */
  store(
    native: NativeStore,
    task: Task,
    writes: IndexedWrite[],
    replace: boolean,
    needs: Needs,
    taken: Taken,
    tasks: Promise<void> | undefined,
  ): Promise<void> {
    const stored = (this.#storing ?? Promise.resolve()).then(() =>
      this.#store(native, task, writes, replace, needs, taken, tasks),
    );
    this.#storing = stored;
    stored.catch((error: unknown) => (this.refused = error));
    return stored;
  }

  /** Resolves when the answers of the program are stored. Rejects if a different answer was stored first. */
  settled(): Promise<void> | undefined {
    return this.#storing;
  }

  async #store(
    native: NativeStore,
    task: Task,
    writes: IndexedWrite[],
    replace: boolean,
    needs: Needs,
    { value, program, questions }: Taken,
    tasks: Promise<void> | undefined,
  ): Promise<void> {
    const { serde } = this.#context;
    for (let attempt = 1; ; attempt++) {
      const open = questions.filter((question) => this.#stateOf(question) === null);
      const left = this.#questions.filter(({ answered }) => answered === null).length - open.length;
      const at = Date.now();
      for (const question of open) this.#own.add(placeIn(question));
      // The run stops at each question whose answer it does not have, even if another run has answered the question.
      const stops = this.#questions.filter((each) => !this.#own.has(placeIn(each))).length;
      const answers = open.map((question) => recordOf(question, { value, by: null, at, program }, stops));
      const records: IndexedWrite[] = await Promise.all(
        answers.map(async (answer, nth) => ({
          index: ANSWERS.index - this.#records - nth,
          part: { name: ANSWERS.channel, ...(await dump(serde, answer, "an answer")) },
        })),
      );
      // Wait as late as possible: the answer must be handed to the engine before the first task reads the thread.
      await tasks;
      if (records.length === 0) {
        await putWrites(native, this.#root, task, writes, replace, needs);
        return;
      }
      const { threadId } = this.#root;
      const own = writeFields(this.#root, task, writes, replace, needs);
      const free = records[0]!.index;
      // After an answer by id, the store does not know by itself that no question is left.
      if (program === "id" && left === 0) records.push(nothingLeft());
      const noTask = writeFields(this.#root, { task: NO_TASK, path: "" }, records, true, needs, free);
      const buffers = [...writes, ...records].map(({ part }) => part.bytes);
      try {
        // If a different answer was already used, the thread has continued.
        const expect = [{ namespace: "", newest: this.#root.id }];
        const call = { threadId, expect, replace: false, writes: [own, noTask], puts: [] };
        await langgraph.call(native, "import", call, buffers);
        this.#records += answers.length;
        for (const [nth, question] of open.entries()) this.#answered(question, answers[nth]!);
        return;
      } catch (error) {
        if (!isOvertaken(error) || attempt === ATTEMPTS) throw error;
        if (!(await this.#readAgain())) throw (await this.#usedAnswer(answers)) ?? error;
        this.#compared(
          this.#questions.filter((question) => questions.some((each) => placeIn(each) === placeIn(question))),
          value,
        );
      }
    }
  }

  /**
   * Called when a task has asked a question. If the question was answered during the run, the store must not count the
   * task as waiting.
   */
  async asked(native: NativeStore): Promise<void> {
    await this.#readAgain();
    if (this.#records === 0) return;
    const free = ANSWERS.index - this.#records;
    const buffers: Uint8Array[] = [];
    const writes = answeredLevels(this.#questions).map(({ header }) => {
      const nothing = nothingLeft();
      buffers.push(nothing.part.bytes as Uint8Array);
      const isRoot = header.namespace === "";
      return writeFields(
        refOf(header),
        { task: NO_TASK, path: "" },
        [nothing],
        true,
        undefined,
        isRoot ? free : undefined,
      );
    });
    if (writes.length === 0) return;
    const call = { threadId: this.#root.threadId, expect: [], replace: false, writes, puts: [] };
    // The writer of another answer checks the task then.
    await langgraph.call(native, "import", call, buffers).catch((error) => {
      if (!isOvertaken(error)) throw error;
    });
  }

  #stateOf(question: ThreadQuestion): ThreadQuestion["answered"] {
    const key = placeIn(question);
    return this.#questions.find((each) => placeIn(each) === key)?.answered ?? null;
  }

  #answered(question: ThreadQuestion, answer: AnswerRecord): void {
    const key = placeIn(question);
    const held = this.#questions.find((each) => placeIn(each) === key);
    if (held !== undefined) held.answered = answer;
  }

  /** The error for a question whose answer another run has already used. */
  async #usedAnswer(answers: readonly AnswerRecord[]): Promise<unknown> {
    const { threadId, namespace, id } = this.#root;
    const root = await find(this.#context, threadId, namespace, id);
    const used = root === null ? [] : await recordsOf(this.#context.serde, root, true);
    const other = used.find((record) => answers.some((answer) => keyOf(answer) === keyOf(record)));
    return other && hasAnswer(threadId, other);
  }

  /** Reads the questions and answers again. Returns true if there are new answers. */
  async #readAgain(): Promise<boolean> {
    const { threadId, namespace, id } = this.#root;
    const root = await find(this.#context, threadId, namespace, id);
    if (root === null) return false;
    const before = this.#records;
    this.#records = (await recordsOf(this.#context.serde, root)).length;
    this.#questions = await questionsAt(this.#context, root);
    return this.#records > before;
  }
}

const isAnswerToAll = ([task, channel]: readonly [string, string, unknown]): boolean =>
  task === NO_TASK && channel === RESUME.channel;

const nothingLeft = (): IndexedWrite => ({
  index: RESUME.index,
  part: { name: RESUME.channel, tag: "json", bytes: Buffer.from(NOTHING) },
});

/** A failed task no longer asks. */
const hasNotFailed = ({ levels }: ThreadQuestion): boolean => !levels.at(-1)!.task.channels.has("__error__");

/** Compares an answer with a stored one, which went through JSON. */
function isSame(stored: unknown, given: unknown): boolean {
  if (isDeepStrictEqual(stored, given)) return true;
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(stored)), JSON.parse(JSON.stringify(given)));
  } catch {
    return false;
  }
}
