// A change in two columns: before on the left, after on the right. On a narrow screen, one below the other.
import type { ComponentChildren } from "preact";
import type { Change } from "./api.js";
import { shown } from "./format.js";
import { messageText } from "./message-text.js";
import type { changedWords } from "./words.js";
import { Preview } from "./writes-view.js";

/** The maximum length of a value, in characters. */
const LENGTH = 3_000;

interface SidesProps {
  change: Change;
  /** The different words, if both values are texts. */
  text: ReturnType<typeof changedWords> | null;
}

export function Sides({ change: { op, before, after }, text }: SidesProps) {
  const around = (part: ComponentChildren) => (
    <>
      {shown(text!.head, 300)}
      {part}
      {shown(text!.tail, 300)}
    </>
  );
  return (
    <div class="sides mono wrap">
      <div data-side="before">
        {op === "add" ? (
          <span class="dim">not there</span>
        ) : text !== null ? (
          around(text.removed !== "" && <del>{shown(text.removed, 4_000)}</del>)
        ) : (
          <Whole form={before} />
        )}
      </div>
      <div data-side="after">
        {op === "remove" ? (
          <span class="dim">not there</span>
        ) : text !== null ? (
          around(text.added !== "" && <ins>{shown(text.added, 4_000)}</ins>)
        ) : (
          <Whole form={after} />
        )}
      </div>
    </div>
  );
}

/** A message as its role and its text, or any other value. */
export function Whole({ form, length = LENGTH }: { form: unknown; length?: number }) {
  const message = messageText(form);
  if (message === null) return <Preview form={form} length={length} />;
  const { role, text, calls } = message;
  return (
    <>
      <em class="v-type">{shown(role, 40)}</em> {shown(text.slice(0, length), length)}
      {calls.length > 0 && <span class="dim"> calls {shown(calls.join(", "), 200)}</span>}
    </>
  );
}
