// The fork dialog: the state as text, which is checked while you type, and a preview of the changes.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { parseJson } from "../../../ts/bridge/json-form/json-text.js";
import { useAnswer } from "./answer.js";
import { type CheckpointInfo, type RunRef, api, troubleOf } from "./api.js";
import { Changes } from "./diff-view.js";
import { Dialog } from "./dialog.js";
import { type Edit, editOf } from "./edit.js";
import { Editor, type JsonError } from "./editor.js";
import { count, counted, shown } from "./format.js";
import { addressOfRun, go } from "./route.js";
import { Button, ErrorBox, Skeleton, say } from "./ui.js";

/** The pause in typing before the preview is requested, in ms. */
const PAUSE = 300;

interface ForkProps {
  of: RunRef;
  from: CheckpointInfo;
  close: () => void;
  /** Called after the fork. */
  done: () => void;
}

export function ForkDialog({ of, from, close, done }: ForkProps) {
  const text = useSignal("");
  const as = useSignal("");
  const error = useSignal<JsonError | null>(null);
  const sending = useSignal(false);
  const load = async () => {
    const raw = (await api.raw(of, from.id)).trimEnd();
    text.value = raw;
    return { raw, before: JSON.parse(raw) as unknown };
  };
  const { answer: original, trouble, again } = useAnswer(load, []);

  const edit = (): Edit | null => {
    if (original.value === null) return null;
    const { raw, before } = original.value;
    error.value = null;
    if (text.value === raw) return {};
    try {
      return editOf(before, parseJson(text.value));
    } catch (reason) {
      const { message, line, column } = reason as JsonError;
      error.value = { message, line, column };
      return null;
    }
  };
  const send = (made: Edit, dryRun: boolean, signal: AbortSignal | null) =>
    api.fork(of, from.id, { ...made, ...(as.value !== "" && { as: as.value }), ...(dryRun && { dryRun }) }, signal);
  const look = (signal: AbortSignal) => {
    const made = edit();
    return made === null ? undefined : send(made, true, signal);
  };
  const { answer: preview, trouble: refused } = useAnswer(look, [text.value, original.value, as.value], PAUSE);
  // A short text is checked at every key, a long one after a pause in typing.
  useEffect(() => {
    if (text.value.length < 200_000) edit();
  }, [text.value, original.value]);

  const submit = async () => {
    const made = edit();
    if (made === null || sending.value) return;
    sending.value = true;
    try {
      const forked = await send(made, false, null);
      close();
      done();
      go(addressOfRun(forked, forked.id));
      say(`Forked. This is ${forked.run === of.run ? "the new branch" : "the new run"}`, "fork-done");
    } catch (reason) {
      refused.value = troubleOf(reason);
      sending.value = false;
    }
  };

  const inThread = of.space === "langgraph" && as.value === "";
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
          <div class="fork-columns grow">
            <div class="fork-text stack">
              <Editor text={original.value.raw} error={error.value} onText={(value) => (text.value = value)} />
              {error.value !== null && (
                <p class="part failed tone ground small wrap" role="alert" data-testid="fork-error">
                  {shown(error.value.message)}
                </p>
              )}
            </div>
            <section class="scroll" data-testid="fork-preview" aria-label="Changes" tabIndex={0}>
              <h3 class="lead">
                {preview.value?.changes === undefined ? "Changes" : counted(preview.value.changes.length, "change")}
              </h3>
              {refused.value !== null && <ErrorBox trouble={refused.value} />}
              {refused.value === null && preview.value?.changes !== undefined && (
                <Changes changes={preview.value.changes} isCut={preview.value.truncated === true} />
              )}
            </section>
          </div>
          <footer class="row">
            <label class="field row">
              <span>{of.space === "langgraph" ? "New thread id" : "New run id"}</span>
              <input
                size={26}
                placeholder={of.space === "langgraph" ? "empty: same thread" : "generated"}
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
