// A small editor for a value of a state. The edit is kept until the user forks.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { parseJson, safeText } from "../../../ts/bridge/json-form/json-text.js";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { moreOf } from "../forms.js";
import { useAnswer } from "./answer.js";
import { type CheckpointRef, request } from "./api.js";
import { type PendingEdit, LONGEST, addEdit, editsOf, opaqueIn, tooLarge, undoEdit, whyNoEdit } from "./edits.js";
import { shown } from "./format.js";
import type { TreeRow } from "./tree.js";
import { hasInside } from "./tree.js";
import { Button, ErrorBox, Skeleton, say } from "./ui.js";

interface EditProps {
  of: CheckpointRef;
  row: TreeRow;
  close: () => void;
}

/** Shows the editor, or the reason why the value can't be edited. */
export function EditValue({ of, row, close }: EditProps) {
  const edits = editsOf(of);
  const own = edits.find((each) => formatPath(each.path) === row.id);
  // A value found by a search is not loaded.
  const why = own === undefined && row.value !== undefined ? whyNoEdit(edits, row.path, row.value) : null;
  const load = () => (why !== null ? undefined : Promise.resolve(own ?? loadedValue(of, row)));
  const { answer, trouble, again } = useAnswer(load, []);
  const edit = answer.value;
  const refused = why ?? (edit === null ? null : whyNoText(edit));
  return (
    <section class="closer stack edit-value" aria-label="Edit a value" data-testid="edit">
      <header class="row">
        <code class="cut grow soft" title={shown(row.id)}>
          {shown(row.id, 400)}
        </code>
        <Button kind="quiet" icon="close" name="Close the editor" onClick={close} />
      </header>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} retry={again} />}
      {refused !== null ? (
        <p class="note soft wrap" role="status" data-testid="edit-refused">
          {refused}
        </p>
      ) : edit === null ? (
        trouble.value === null && <Skeleton rows={2} />
      ) : (
        <Fields of={of} edit={edit} close={close} />
      )}
    </section>
  );
}

/** Returns the value of a row. Requests it if the row has only a part. */
async function loadedValue(of: CheckpointRef, { id, path, value }: TreeRow): Promise<PendingEdit> {
  const isWhole = value !== undefined && moreOf(value) === null && !hasInside(value, path.length);
  if (isWhole) return { path, before: value, value };
  const whole = await request("raw", { space: of.space, run: of.run, ns: of.ns, id: of.id, path: id });
  const loaded: unknown = JSON.parse(await whole.text());
  return { path, before: loaded, value: loaded };
}

/** Returns the text of a value, with invisible characters escaped. */
const jsonOf = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => safeText(line))
    .join("\n");

function whyNoText({ before, value }: PendingEdit): string | null {
  const opaque = opaqueIn(before);
  if (opaque !== null) return opaque;
  const size = jsonOf(value).length;
  return size > LONGEST ? tooLarge(size, typeof value === "object") : null;
}

/** Returns true for a text that a form field does not change. */
const isPlain = (value: unknown): value is string =>
  typeof value === "string" && value.split(/[\n\t]/).every((part) => safeText(part) === part);

interface FieldsProps {
  of: CheckpointRef;
  edit: PendingEdit;
  close: () => void;
}

function Fields({ of, edit, close }: FieldsProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const asText = useSignal(isPlain(edit.value));
  const error = useSignal<string | null>(null);
  const wrong = (text: string): string | null => {
    if (asText.value) return null;
    try {
      parseJson(text);
      return null;
    } catch (reason) {
      return (reason as Error).message;
    }
  };
  useLayoutEffect(() => {
    const own = area.current!;
    own.value = asText.value ? (edit.value as string) : jsonOf(edit.value);
    own.focus({ preventScroll: true });
    own.setSelectionRange(0, own.value.length);
  }, []);
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  // A long text is checked after a pause in typing.
  const check = (text: string) => {
    clearTimeout(waiting.current);
    if (text.length < 20_000) error.value = wrong(text);
    else waiting.current = setTimeout(() => (error.value = wrong(text)), 200);
  };
  const turn = (isText: boolean) => {
    const own = area.current!;
    if (isText) {
      const value: unknown = wrong(own.value) === null ? parseJson(own.value) : null;
      if (!isPlain(value)) return say("Only a text without control characters can be written without quotes");
      own.value = value;
    } else own.value = jsonOf(own.value);
    asText.value = isText;
    check(own.value);
  };
  const apply = () => {
    const text = area.current!.value;
    error.value = wrong(text);
    if (error.value !== null) return;
    const value: unknown = asText.value ? text : parseJson(text);
    if (JSON.stringify(value) === JSON.stringify(edit.before)) undoEdit(of, edit.path);
    else addEdit(of, { ...edit, value });
    close();
  };
  return (
    <>
      <textarea
        ref={area}
        class="mono grow"
        rows={4}
        data-testid="edit-editor"
        aria-label={asText.value ? "The new text" : "The new value as JSON"}
        aria-invalid={error.value !== null}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        onInput={({ currentTarget: { value } }) => check(value)}
        onKeyDown={(event) => {
          const isDone = event.key === "Enter" && (event.ctrlKey || event.metaKey);
          if (event.key !== "Escape" && !isDone) return;
          event.preventDefault();
          if (isDone) apply();
          else close();
        }}
      />
      {error.value !== null && (
        <p class="part failed tone ground small wrap" role="alert" data-testid="edit-error">
          {shown(error.value)}
        </p>
      )}
      <footer class="row small">
        <label class="field row">
          <input
            type="checkbox"
            data-testid="edit-text"
            checked={asText.value}
            onChange={({ currentTarget }) => {
              turn(currentTarget.checked);
              currentTarget.checked = asText.value;
            }}
          />
          <span>Text without quotes</span>
        </label>
        {!asText.value && <span class="dim wide-only">Other types: {'{"$type":"Date","value":"…"}'}</span>}
        <span class="grow" />
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" testId="edit-apply" disabled={error.value !== null} onClick={apply}>
          Set
        </Button>
      </footer>
    </>
  );
}
