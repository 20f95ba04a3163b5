/** Reads the questions of runs, and stores answers. */

import { fromJsonForm, shownForm } from "../../bridge/json-form/to-json-form.js";
import { ForkpointError, isOvertaken, isOwnError, quote, typeError } from "../../bridge/errors.js";
import { hasAnswer } from "../../store/answered.js";
import { continueStopped } from "../../store/ended-runs.js";
import { idOrNull } from "../../store/ids.js";
import { type HeldLease, fenced, takeLease } from "../../store/lease.js";
import { anything, flag, readRecord } from "../../store/options.js";
import { pluginOf } from "../../contracts/index.js";
import { findCheckpoint } from "../checkpoints.js";
import { newestOf, readPages } from "../../plugin/pages.js";
import { type Context, readKey, refOf } from "../context.js";
import type { Key, Row } from "../../plugin/wire.js";
import { firstLine, formOf } from "./form.js";
import type { Given, Kept, Live, Questions } from "../../plugin/questions.js";
import { Strandings } from "../stranded.js";
import type { Answer, AnsweredQuestion, Question, StoredAnswer } from "./views.js";

const sourceOf = (space: string): Questions | undefined => pluginOf(space).questions;

/** Reads the questions of a run, or of one of its checkpoints. */
export async function listQuestions(context: Context, ref: unknown): Promise<Question[]> {
  const key = readKey(ref);
  const { id, step } = ref as { id?: unknown; step?: number };
  const known = id === undefined ? undefined : idOrNull(id, "id");
  const source = sourceOf(key.space);
  if (source === undefined || known === null) return [];
  const found = await findCheckpoint(context, key, { id: known, step });
  if (found === null) return [];
  const newest = id === undefined && step === undefined ? found : await findCheckpoint(context, key, {});
  const isNewest = newest?.row.id === found.row.id;
  const live = isNewest ? await source.live(context, key, found.row) : [];
  const kept = (await source.kept?.(context, key, found.row)) ?? [];
  // A question that is open, or whose answer is unused, may also have a record.
  const taken = kept.filter(({ id: of, answered }) => !live.some((each) => each.id === of && isSame(each, answered)));
  return [...taken, ...live].map((each) => shown(source, key, each));
}

const isSame = ({ answered }: Live, { at, by }: Given): boolean => answered?.at === at && answered.by === by;

/** Returns the first line of a run's question. Null: the run has none. */
export async function firstQuestion(context: Context, key: Key, row: Row): Promise<string | null> {
  try {
    const questions = (await sourceOf(key.space)?.live(context, key, row)) ?? [];
    const open = questions.filter(({ answered }) => answered === null);
    if (open.length === 0) return null;
    const line = firstLine(open[0]!.says ?? formOf(open[0]!.value)) || "(a question without a text)";
    const cut = line.length > LINE ? `${line.slice(0, LINE).toWellFormed()}…` : line;
    return open.length === 1 ? cut : `${cut} (and ${open.length - 1} more)`;
  } catch (error) {
    // The status shows that the run waits, even if the question is unreadable.
    if (error instanceof ForkpointError && !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return null;
  }
}

/** The maximum length of a question's line, in characters. */
const LINE = 300;

function shown(source: Questions, key: Key, { id, node, value, answered, says, code }: Live): Question {
  const form = formOf(value);
  const { tool, args, text, choices } = says ?? form;
  const [approve, reject] = usual(source, form);
  return {
    id,
    node,
    tool,
    args: args === null ? null : shownForm(args),
    text,
    choices,
    value: shownForm(value),
    approve: shownForm(approve),
    reject: shownForm(reject(undefined)),
    canAnswer: source.answer !== undefined,
    code: code ?? source.code!(key.run, id, approve),
    answered: answered && shownAnswer(answered),
  };
}

const shownAnswer = ({ value, by, at, program }: Given): StoredAnswer => ({
  value: shownForm(value),
  by,
  at,
  ...(program !== undefined && { program: true }),
});

/** Returns the stored forms of approval and rejection. */
function usual(source: Questions, { approve, reject }: ReturnType<typeof formOf>): [unknown, typeof reject] {
  return source.usual === undefined ? [approve, reject] : [source.usual.approve, source.usual.reject];
}

/** The maximum length of the answering person's name, in characters. */
const NAME = 200;

const answerOptions = {
  id: (value: unknown, name: string) => {
    if (typeof value === "string") return value;
    throw typeError(`${name} must be the id of a question, as questions() returns it`);
  },
  value: anything,
  approve: flag,
  reject: (value: unknown, name: string) => {
    if (typeof value === "boolean" || typeof value === "string") return value;
    throw typeError(`${name} must be true or a reason`);
  },
  by: (value: unknown, name: string) => {
    if (typeof value === "string" && value !== "" && value.length <= NAME && value.isWellFormed()) return value;
    throw typeError(`${name} must be a name of 1 to ${NAME} characters`);
  },
};

/** Stores an answer. Returns the question with its answer, and why nobody may continue the run. */
export async function answerQuestion(context: Context, ref: unknown, given: unknown): Promise<AnsweredQuestion> {
  const key = readKey(ref);
  const question = await store(context, key, given);
  const [page] = await readPages(context, [newestOf(key)]);
  const { rows, status } = page!;
  return { ...question, stranded: rows[0] === undefined ? null : await new Strandings(context).why(rows[0], status) };
}

async function store(context: Context, key: Key, given: unknown): Promise<Question> {
  const answer: Answer = readRecord(given, "answer", answerOptions);
  const named = typeof given === "object" && given !== null && "value" in given && given.value !== undefined;
  const ways = [named, answer.approve === true, answer.reject !== undefined && answer.reject !== false];
  if (ways.filter(Boolean).length !== 1) throw typeError("answer must have one of value, approve and reject");
  // Read the form now, because the caller may change it before the answer is stored.
  const value = named ? fromJsonForm(answer.value) : undefined;
  const source = sourceOf(key.space);
  const pick = async () => pickQuestion(context, key, await listQuestions(context, refOf(key)), answer.id);
  const first = await pick();
  if (source?.answer === undefined) {
    const message = `an answer of ${quote(key.space)} cannot be stored: answer it in your program`;
    throw new ForkpointError("UNSUPPORTED", message);
  }
  return underLease(context, { space: key.space, run: key.run, ns: "" }, async (lease) => {
    const native = fenced(context.engine.native, lease);
    for (let attempt = 1; ; attempt++) {
      // Another process may have answered before this one took the lease, and a program needs no lease.
      const question = await pick();
      if (question.id !== first.id)
        throw new ForkpointError("CONFLICT", `run ${quote(key.run)} asks another question now`);
      const stored: Given = {
        value: named ? value : usualValue(source, question, answer),
        by: answer.by ?? null,
        at: Date.now(),
      };
      try {
        // The answer continues a run that was stopped before it asked.
        await continueStopped(native, { space: key.space, run: key.run });
        await source.answer!(context, native, key, question.id, stored, lease);
        return { ...question, answered: shownAnswer(stored) };
      } catch (error) {
        const isLate = isOvertaken(error) || (isOwnError(error) && error.code === "NOT_FOUND");
        if (!isLate || attempt === ATTEMPTS) throw error;
      }
    }
  });
}

/** How many times an answer is retried after the run has changed. */
const ATTEMPTS = 10;

function usualValue(source: Questions, question: Question, { approve, reject }: Answer): unknown {
  if (approve === true) return fromJsonForm(question.approve);
  const [, rejection] = usual(source, formOf(fromJsonForm(question.value)));
  return rejection(typeof reject === "string" && reject !== "" ? reject : undefined);
}

/** Returns the question to answer. Throws if there are none or several, or if it has an answer. */
async function pickQuestion(
  context: Context,
  key: Key,
  questions: readonly Question[],
  id: string | undefined,
): Promise<Question> {
  const { run } = key;
  const open = questions.filter(({ answered }) => answered === null);
  const found = id === undefined ? open : open.filter((each) => each.id === id);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    const ids = open.map((each) => quote(each.id)).join(", ");
    throw typeError(`run ${quote(run)} asks ${open.length} questions, so answer.id is needed: ${ids}`);
  }
  const isMeant = (each: Pick<Live, "id" | "answered">) =>
    each.answered !== null && (id === undefined || each.id === id);
  const answered = questions.findLast(isMeant) ?? (await keptBefore(context, key)).find(isMeant);
  if (answered === undefined) {
    const what = id === undefined ? "asks no question" : `does not ask the question ${quote(id)}`;
    throw new ForkpointError("NOT_FOUND", `run ${quote(run)} ${what}: list its questions`);
  }
  throw hasAnswer(run, answered.answered!);
}

/** How many of the newest checkpoints are searched for a used answer. */
const RECENT = 20;

async function keptBefore(context: Context, key: Key): Promise<Kept[]> {
  const [page] = await readPages(context, [{ ...newestOf(key), limit: RECENT }]);
  for (const row of page!.rows) {
    const kept = (await sourceOf(key.space)?.kept?.(context, key, row)) ?? [];
    if (kept.length > 0) return kept;
  }
  return [];
}

/** The time limit for a lease that is held briefly, and the pause between attempts, in ms. */
const [PATIENCE, PAUSE] = [2_000, 50];

/** Runs work under the lease of a run. If a program runs the run, it holds the lease and must answer itself. */
async function underLease<T>(
  context: Context,
  of: { space: string; run: string; ns: string },
  work: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  const until = performance.now() + PATIENCE;
  const own = new Set<HeldLease>();
  for (;;) {
    let lease: HeldLease;
    try {
      lease = await takeLease(context.engine, of, {}, own, { passive: true });
    } catch (error) {
      const isHeld = error instanceof ForkpointError && error.code === "CONFLICT" && performance.now() < until;
      if (!isHeld) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      continue;
    }
    try {
      return await work(lease);
    } finally {
      await lease.release().catch(() => {});
    }
  }
}
