// The questions of a run, the form for answers, and who has answered.
import { useSignal } from "@preact/signals";
import { parseJson } from "../../../ts/bridge/json-form/json-text.js";
import { useAnswer } from "./answer.js";
import { type Question, type RunRef, type Trouble, api, troubleOf } from "./api.js";
import { now } from "./clock.js";
import { ago, at, shown } from "./format.js";
import { Icon } from "./icons.js";
import { NameField, keepName, storedName } from "./name-field.js";
import { Button, ErrorBox, copy, say, strandedText } from "./ui.js";
import { textOf, wholeText } from "./value.js";

interface QuestionsProps {
  of: RunRef;
  /** The checkpoint. Undefined: the newest. */
  id?: string;
  /** The questions are read again when this changes. */
  version: string;
  write: boolean;
  /** Called after an answer. */
  done: () => void;
}

/** The open questions of a run's newest checkpoint, or the stored answers of another one. */
export function Questions({ of, id, version, write, done }: QuestionsProps) {
  const { answer, trouble, again } = useAnswer((signal) => api.questions(of, id, signal), [version, id]);
  if (trouble.value !== null) return <ErrorBox trouble={trouble.value} retry={again} />;
  const { questions = [], more = 0 } = answer.value ?? {};
  const listed = id === undefined ? questions : questions.filter(({ answered }) => answered !== null);
  if (listed.length === 0) return null;
  return (
    <section class="questions stack" aria-label="Questions" tabIndex={0}>
      {listed.map((question) => (
        <Asked
          key={`${question.id} ${question.answered?.at ?? ""}`}
          of={of}
          question={question}
          write={write}
          done={() => {
            again();
            done();
          }}
        />
      ))}
      {more > 0 && <p class="dim small">{more} more questions are too large to show.</p>}
    </section>
  );
}

interface AskedProps {
  of: RunRef;
  question: Question;
  write: boolean;
  done: () => void;
}

function Asked({ of, question, write, done }: AskedProps) {
  const { id, node, tool, args, text, value, answered, canAnswer } = question;
  const said = text === "" ? (tool === null ? textOf(value, 600) : "") : text;
  return (
    <article class="question stack waiting" data-testid="question" data-id={id} data-answered={answered !== null}>
      <p class="row small soft">
        <Icon name={answered === null ? "pause" : "check"} class="tone" />
        <span class="cut">{node === null ? "The run" : shown(node, 80)} asks</span>
      </p>
      {tool !== null && (
        <p class="call wrap">
          <code>
            <em>{shown(tool, 400)}</em>
            {args !== null && `(${textOf(args, 2_000)})`}
          </code>
        </p>
      )}
      {said !== "" && <p class="said wrap">{wholeText(said)}</p>}
      {answered !== null && <AnsweredBy answered={answered} />}
      {answered === null && write && canAnswer && <AnswerForm of={of} question={question} done={done} />}
      {answered === null && !(write && canAnswer) && <Code question={question} write={write} />}
    </article>
  );
}

function AnsweredBy({ answered: { value, by, at: time, program } }: { answered: NonNullable<Question["answered"]> }) {
  const who = program ? "the program" : by === null ? "someone without a name" : shown(by, 200);
  return (
    <p class="small wrap" data-testid="answered-by">
      Answered <code>{textOf(value, 300)}</code> by <em>{who}</em>, <time title={at(time)}>{ago(time, now.value)}</time>
    </p>
  );
}

function Code({ question: { code, canAnswer }, write }: { question: Question; write: boolean }) {
  return (
    <div class="stack" data-testid="answer-code">
      <p class="small soft">
        {canAnswer && !write
          ? "The studio is read-only. Start it with --write to answer here, or answer in your program:"
          : "This framework takes the answer only in its own program:"}
      </p>
      <div class="row code">
        <pre class="grow scroll" tabIndex={0} aria-label="Code that answers">
          {wholeText(code)}
        </pre>
        <Button kind="quiet" icon="copy" name="Copy the code" onClick={() => void copy(code, "the code")} />
      </div>
    </div>
  );
}

/** A way to answer. `field`: its text or JSON. */
interface Way {
  key: string;
  name: string;
  field?: string;
  body: (text: string) => Record<string, unknown>;
}

function waysOf({ choices, approve }: Question): Way[] {
  const own: Way[] = [
    { key: "text", name: "Text", field: "Your answer", body: (text) => ({ value: text }) },
    { key: "json", name: "JSON", field: "Your answer as JSON", body: (text) => ({ value: parseJson(text) }) },
  ];
  // Choices that only name decisions are not answers.
  const isValue = typeof approve !== "object" || approve === null;
  if (choices.length > 0 && isValue) {
    return [...choices.map((choice) => ({ key: choice, name: choice, body: () => ({ value: choice }) })), ...own];
  }
  const mayReject = choices.length === 0 || choices.some((choice) => /^(reject|ignore|respond)$/.test(choice));
  const reject: Way = {
    key: "reject",
    name: "Reject",
    field: "The reason, if you give one",
    body: (text) => ({ reject: text === "" ? true : text }),
  };
  return [{ key: "approve", name: "Approve", body: () => ({ approve: true }) }, ...(mayReject ? [reject] : []), ...own];
}

function AnswerForm({ of, question, done }: Omit<AskedProps, "write">) {
  const ways = waysOf(question);
  const chosen = useSignal(ways[0]!.key);
  const text = useSignal("");
  const by = useSignal(storedName());
  const sending = useSignal(false);
  const trouble = useSignal<Trouble | null>(null);
  const way = ways.find(({ key }) => key === chosen.value) ?? ways[0]!;
  const submit = async () => {
    if (sending.value) return;
    sending.value = true;
    try {
      const name = by.value.trim();
      const { stranded } = await api.answer(of, {
        id: question.id,
        ...way.body(text.value),
        ...(name !== "" && { by: name }),
      });
      keepName(name);
      const next = stranded === null ? "The next recover of your program continues the run" : strandedText(stranded);
      say(`Answered. ${next}`, "answer-done");
      done();
    } catch (reason) {
      trouble.value = troubleOf(reason);
      if (trouble.value.code === "CONFLICT") done();
    }
    sending.value = false;
  };
  return (
    <form
      class="stack"
      data-testid="answer-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class="row ways" role="group" aria-label="Answer">
        {ways.map(({ key, name }) => (
          <Button
            key={key}
            testId="answer-way"
            data-way={key}
            aria-pressed={chosen.value === key}
            onClick={() => (chosen.value = key)}
          >
            {shown(name, 80)}
          </Button>
        ))}
      </div>
      {way.field !== undefined && (
        <textarea
          rows={2}
          data-testid="answer-text"
          aria-label={way.field}
          placeholder={way.field}
          spellcheck={false}
          value={text.value}
          onInput={({ currentTarget: { value } }) => (text.value = value)}
        />
      )}
      {trouble.value !== null && <ErrorBox trouble={trouble.value} />}
      <div class="row ways">
        <NameField by={by} testId="answer-by" />
        <Button kind="primary" icon="check" type="submit" testId="answer-submit" disabled={sending.value}>
          Answer
        </Button>
      </div>
    </form>
  );
}
