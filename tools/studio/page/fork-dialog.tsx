// The fork dialog: the edits of values, or the state as text, and a preview of the changes.
import { traitsOf } from "../../../ts/contracts/registry.js";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { parseJson } from "../../../ts/bridge/json-form/json-text.js";
import { useAnswer } from "./answer.js";
import { type CheckpointInfo, type Forked, type RunRef, api, troubleOf } from "./api.js";
import { Changes } from "./diff-view.js";
import { Dialog } from "./dialog.js";
import { type Edit, editOf } from "./edit.js";
import { LONGEST, clearEdits, editsOf, settingsOf } from "./edits.js";
import { EditList } from "./edits-view.js";
import { Editor, type JsonError } from "./editor.js";
import { bytes, count, counted, shown } from "./format.js";
import { addressOfRun, go } from "./route.js";
import { Button, ErrorBox, Skeleton, say } from "./ui.js";

/** The pause in typing before the preview is requested, in ms. */
const PAUSE = 300;

interface ForkProps {
  of: RunRef;
  from: CheckpointInfo;
  /** The size of the state as JSON, in bytes. */
  size: number;
  /** Whether the run waits for an answer. */
  isWaiting: boolean;
  close: () => void;
  /** Called after the fork. */
  done: () => void;
}

/** The state as text, or null if it is too large to edit. */
interface Original {
  raw: string | null;
  size: number;
}

export function ForkDialog({ of, from, size, isWaiting, close, done }: ForkProps) {
  const text = useSignal("");
  const as = useSignal("");
  const error = useSignal<JsonError | null>(null);
  const sending = useSignal(false);
  const edits = editsOf(from);
  const load = async (): Promise<Original> => {
    if (edits.length > 0 || size > LONGEST) return { raw: null, size };
    const raw = (await api.raw(of, from.id)).trimEnd();
    if (raw.length > LONGEST) return { raw: null, size: raw.length };
    text.value = raw;
    return { raw, size };
  };
  const { answer: original, trouble, again } = useAnswer(load, [edits.length === 0]);
  const raw = original.value?.raw ?? null;

  const check = (): unknown => {
    error.value = null;
    try {
      return parseJson(text.value);
    } catch (reason) {
      const { message, line, column } = reason as JsonError;
      error.value = { message, line, column };
      return undefined;
    }
  };
  const edit = (): Edit | null => {
    if (edits.length > 0) return { set: settingsOf(edits) };
    if (original.value === null) return null;
    if (raw === null || text.value === raw) return {};
    const after = check();
    return after === undefined ? null : editOf(JSON.parse(raw) as unknown, after);
  };
  const send = (made: Edit, dryRun: boolean, signal: AbortSignal | null) =>
    api.fork(of, from.id, { ...made, ...(as.value !== "" && { as: as.value }), ...(dryRun && { dryRun }) }, signal);
  // The inputs of the preview.
  const asked = [text.value, raw, as.value, edits] as const;
  const look = (signal: AbortSignal) => {
    const made = edit();
    // During the fork, its id is already taken.
    return made === null || sending.value
      ? undefined
      : send(made, true, signal).then((found) => ({ found, of: asked }));
  };
  const { answer: preview, trouble: refused } = useAnswer(look, [...asked, original.value], PAUSE);
  useEffect(() => {
    if (raw !== null && text.value !== raw) check();
    else error.value = null;
  }, [text.value, raw]);

  const submit = async () => {
    const made = edit();
    if (made === null || sending.value) return;
    sending.value = true;
    try {
      const forked = await send(made, false, null);
      clearEdits(from);
      close();
      done();
      go(addressOfRun(forked, forked.id));
      say(`Forked. This is ${forked.run === of.run ? "the new branch" : "the new run"}`, "fork-done");
    } catch (reason) {
      refused.value = troubleOf(reason);
      sending.value = false;
    }
  };

  const { noun = "run", fork } = traitsOf(of.space);
  const hasBranches = fork?.inPlace === true;
  const inThread = hasBranches && as.value === "";
  const isFresh = preview.value?.of.every((each, index) => each === asked[index]) === true;
  return (
    <Dialog title={`Fork from step ${count(from.step)}`} testId="fork-dialog" kind="fork" close={close}>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} retry={again} />}
      {trouble.value === null && original.value === null && <Skeleton rows={10} />}
      {original.value !== null && (
        <>
          <p class="part soft">
            {inThread
              ? "This creates a branch in this thread, starting with the state below. Existing checkpoints don't change."
              : "This creates a run that starts with the state below. The current run doesn't change."}
          </p>
          {inThread && isWaiting && (
            <p class="part waiting ground tone" role="note" data-testid="fork-hides-question">
              This thread waits for an answer. The branch becomes its newest step, so the question leaves the list of
              waiting runs until your program runs the branch, which asks again. To keep the question, enter a new
              thread id.
            </p>
          )}
          <div class="fork-columns grow">
            <div class="fork-text stack">
              {edits.length > 0 ? (
                <EditList of={from} />
              ) : raw === null && original.value.size <= LONGEST ? (
                <Skeleton rows={10} />
              ) : raw === null ? (
                <p class="note soft" data-testid="fork-large">
                  {`The state has ${bytes(original.value.size)}, which is too large to edit as a text. To change a value, `}
                  close this dialog, select the value in the state and press <kbd>e</kbd>. You can also fork the state
                  as it is.
                </p>
              ) : (
                <Editor text={raw} error={error.value} onText={(value) => (text.value = value)} />
              )}
              {error.value !== null && (
                <p class="part failed tone ground small wrap" role="alert" data-testid="fork-error">
                  {shown(error.value.message)}
                </p>
              )}
            </div>
            <section
              class="scroll"
              data-testid="fork-preview"
              aria-label="Changes"
              tabIndex={0}
              aria-busy={!isFresh && error.value === null && refused.value === null}
            >
              <h3 class="lead">Changes</h3>
              {error.value !== null ? (
                <p class="note dim" data-testid="fork-stale">
                  The text isn't valid JSON, so there are no changes to show.
                </p>
              ) : refused.value !== null ? (
                <ErrorBox trouble={refused.value} />
              ) : (
                <Preview found={preview.value?.found ?? null} isFresh={isFresh} />
              )}
            </section>
          </div>
          <footer class="row">
            <label class="field row">
              <span>{`New ${noun} id`}</span>
              <input
                size={26}
                placeholder={hasBranches ? `empty: same ${noun}` : "generated"}
                autocomplete="off"
                spellcheck={false}
                value={as.value}
                onInput={({ currentTarget: { value } }) => (as.value = value)}
              />
            </label>
            <span class="grow" />
            <Button onClick={close}>Cancel</Button>
            <Button
              kind="primary"
              icon="fork"
              testId="fork-submit"
              disabled={error.value !== null || sending.value}
              onClick={() => void submit()}
            >
              {inThread ? "Fork as a branch" : "Fork as a new run"}
            </Button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function Preview({ found, isFresh }: { found: Forked | null; isFresh: boolean }) {
  const changes = found?.changes;
  return (
    <>
      <h3 class="lead">
        {changes === undefined || !isFresh ? "Checking the changes…" : counted(changes.length, "change")}
      </h3>
      {changes !== undefined && <Changes changes={changes} isCut={found?.truncated === true} />}
    </>
  );
}
