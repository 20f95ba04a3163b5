import { traitsOf } from "../../../ts/contracts/registry.js";
import { Argument } from "commander";
import { safeText, withId } from "../../../ts/bridge/json-form/json-text.js";
import { ForkpointError, quote } from "../../../ts/bridge/errors.js";
import { command, runArgument, spaceOption } from "../command.js";
import type { Context } from "../context.js";
import { UsageError } from "../errors.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { strandedNote } from "../stranded.js";
import { checkpointsOf } from "../pages.js";
import { readSource } from "../path.js";
import { answerLine, answersOf, questionLine, readQuestions, valueText } from "../questions.js";
import { plural } from "../units.js";
import { userName } from "../user-name.js";
import type { Answer, Question } from "../../../ts/inspect/questions/views.js";
import type { CheckpointInfo, RunInfo } from "../../../ts/plugin/views.js";
import type { Inspector } from "../../../ts/inspect/inspector.js";

interface Options extends RunOptions {
  approve?: boolean;
  reject?: boolean | string;
  value?: string;
  text?: string;
  by?: string;
  dryRun?: boolean;
}

const help = `
Without an answer, the command prints the questions, the answers that were stored, and the code that answers in a program.
An answer is stored once. When all questions of the run have answers, the next \`recover\` of your program continues the run.

  forkpoint answer run-1                       what it asks
  forkpoint answer run-1 --approve
  forkpoint answer run-1 --reject "too much"
  forkpoint answer run-1 --text "Lisbon"       the answer is a text
  forkpoint answer run-1 --value '{"amount":9}'`;

export const answer = () =>
  command<Options>("answer", "answer the question of a waiting run, or list its questions", run, "itself")
    .addArgument(runArgument())
    .addArgument(new Argument("[question]", "the id of a question, or a prefix of it (default: the only one)"))
    .option("--approve", "approve")
    .option("--reject [reason]", "reject")
    .option("--text <text>", "answer with this text")
    .option("--value <json|@file|->", "answer with this JSON value; -: read it from stdin")
    .option("--by <name>", "who answers (default: your user name)")
    .option("--dry-run", "check everything, and store nothing")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the run")
    .addHelpText("after", help);

async function run(context: Context, options: Options, id?: string, which?: string): Promise<void> {
  const { approve, reject, value, text, dryRun = false } = options;
  const ways = [approve === true, reject !== undefined, value !== undefined, text !== undefined].filter(Boolean).length;
  if (ways > 1) throw new UsageError("pass one of --approve, --reject, --text and --value");
  if (options.by === "") throw new UsageError("--by: expected a name");
  const inspector = ways === 0 || dryRun ? await context.openForDryRun() : await context.open({ write: true });
  const found = await findRun(context, inspector, id!, options);
  if (ways === 0) return list(context, inspector, found);
  const given = value === undefined ? text : await readSource(value, "--value");
  const questions = await inspector.questions(refOf(found));
  const question = pick(found, questions, which);
  context.signal.throwIfAborted();
  const by = options.by ?? userName();
  const answer: Answer = { id: question?.id, by, approve, reject, ...(given !== undefined && { value: given }) };
  const meant = question ?? questions.at(-1);
  if (dryRun && meant === undefined) throw noQuestion(found);
  const stored = dryRun
    ? {
        ...dry(meant!, answer),
        stranded: (await inspector.run(refOf(found), { withStranded: true }))?.stranded ?? null,
      }
    : await inspector.answer(refOf(found), answer);
  const { space, run, ns = null } = refOf(found);
  const at = stored.answered?.at ?? null;
  const { output } = context;
  const { stranded } = stored;
  const said = { space, run, ns, id: stored.id, value: stored.answered!.value, by: by ?? null, at, dryRun, stranded };
  output.answer(said, () => {
    const what = `${questionLine(stored, output)} with ${valueText(stored.answered!.value)}`;
    if (dryRun) return [`would answer ${what}`];
    return [`${output.style("green", "✓ answered")} ${what}`];
  });
  // Somebody else may have answered another question meanwhile.
  const after = dryRun ? questions : await inspector.questions(refOf(found)).catch(() => questions);
  const left = after.filter((each) => each.answered === null && each.id !== stored.id).length;
  if (left > 0) output.hint(`${plural(left, "question")} left: forkpoint answer ${withId(run)}`);
  else if (stranded === null && !dryRun) output.hint(`${takes(found)} continues the run`);
  if (stranded !== null) context.note(strandedNote(stranded));
}

const takes = ({ space, run }: RunInfo): string =>
  traitsOf(space).answered?.(safeText(JSON.stringify(run))) ?? "the next recover() of your program";

/** Returns the question with the answer that would be stored. */
function dry(question: Question, { value, approve, reject, by }: Answer): Question {
  if (question.answered !== null) throw new ForkpointError("CONFLICT", "the question was answered already");
  if (!question.canAnswer)
    throw new ForkpointError("UNSUPPORTED", "an answer of this framework cannot be stored: answer it in your program");
  const given = approve === true ? question.approve : reject !== undefined ? question.reject : value;
  return { ...question, answered: { value: given, by: by ?? null, at: Date.now() } };
}

/** Finds a question by its id or a prefix. Undefined: the inspector chooses, or explains the lack of one. */
function pick({ run }: RunInfo, questions: readonly Question[], which: string | undefined): Question | undefined {
  const open = questions.filter(({ answered }) => answered === null);
  if (which === undefined) {
    if (open.length <= 1) return open[0];
    const ids = open.map(({ id }) => `\n${JSON.stringify(id)}`).join("");
    throw new UsageError(`run ${quote(run)} asks ${open.length} questions: name one of them${ids}`);
  }
  const exact = questions.filter(({ id }) => id === which);
  const found = exact.length > 0 ? exact : questions.filter(({ id }) => id.startsWith(which));
  const ids = new Set(found.map(({ id }) => id));
  if (ids.size === 1) return found.find(({ answered }) => answered === null) ?? found[0];
  if (ids.size > 1) throw new UsageError(`${quote(which)} matches ${ids.size} questions: type more of the id`);
  throw new ForkpointError(
    "NOT_FOUND",
    `run ${quote(run)} does not ask the question ${quote(which)}: list its questions`,
  );
}

const noQuestion = ({ run }: RunInfo) =>
  new ForkpointError(
    "NOT_FOUND",
    `run ${quote(run)} asks no question: \`forkpoint ls --status waiting\` lists the runs that ask`,
  );

async function list(context: Context, inspector: Inspector, found: RunInfo): Promise<void> {
  const { output, signal } = context;
  const ref = refOf(found);
  const questions = await readQuestions(inspector, ref);
  const steps: CheckpointInfo[] = [];
  for await (const checkpoint of checkpointsOf(inspector, ref)) steps.push(checkpoint);
  const answers = await answersOf(inspector, steps, signal);
  output.answer({ run: ref, questions, answers: answers.map(({ step, question }) => ({ step, ...question })) }, () =>
    lines(context, questions, answers),
  );
  const open = questions.filter(({ answered }) => answered === null);
  if (questions.length === 0 && answers.length === 0) context.note(`${safeText(found.run)} asks no question`);
  const first = open.find(({ canAnswer }) => canAnswer);
  if (first !== undefined) {
    const words = withId(found.run, "--approve", open.length > 1 ? first.id : undefined);
    output.hint(`store an answer: forkpoint answer ${words}`);
  }
}

function* lines(
  { output }: Context,
  questions: readonly Question[],
  answers: ReadonlyArray<{ step: number; question: Question }>,
): Generator<string> {
  const { style } = output;
  for (const { step, question } of answers) yield `${style("dim", `step ${step}`)} ${answerLine(question, output)}`;
  for (const question of questions) {
    if (question.answered !== null) continue;
    const asks = question.node === null ? "" : `${style("bold", safeText(question.node))} asks `;
    yield `${asks}${questionLine(question, output)}`;
    for (const line of question.text.split("\n").slice(1)) yield `  ${safeText(line)}`;
    yield `  ${style("dim", `question ${safeText(question.id)}`)}`;
    if (!question.canAnswer) yield "  This framework takes the answer only in its own program:";
    yield "";
    for (const line of question.code.split("\n")) yield line === "" ? "" : `  ${safeText(line)}`;
    yield "";
  }
}
