// The writes of a checkpoint, such as interrupts and errors.
import { useSignal } from "@preact/signals";
import type { Detail, WriteInfo } from "./api.js";
import { counted, shown } from "./format.js";
import { Icon, type IconName } from "./icons.js";
import { insideOf, moreOf } from "../forms.js";
import { Button } from "./ui.js";
import { Value, textOf } from "./value.js";

const SHOWN = 50;

/** The labels of the frameworks' internal channels, whose names are hard to understand. */
const meanings: Record<string, { name: string; icon: IconName; kind: string }> = {
  __interrupt__: { name: "interrupt", icon: "pause", kind: "waiting" },
  __error__: { name: "error", icon: "cross", kind: "failed" },
  __resume__: { name: "answer", icon: "check", kind: "" },
  __forkpoint_answers__: { name: "answered by", icon: "check", kind: "" },
};

export function Writes({ detail: { writes, moreWrites } }: { detail: Detail }) {
  const open = useSignal(false);
  if (writes.length === 0) return null;
  const pending = writes.filter(({ owner }) => owner === null).length;
  const all = writes.length + moreWrites;
  const isLong = all > 3 || writes.some(({ value }) => textOf(value, 200).length > 100);
  return (
    <section class={`writes part ${open.value ? "open" : ""}`} data-testid="writes" aria-label="Writes" tabIndex={0}>
      <div class="row">
        <h3 class="grow">
          {counted(all, "write")}
          <span class="dim"> {pending === all ? "pending" : pending === 0 ? "applied" : `${pending} pending`}</span>
        </h3>
        {isLong && (
          <Button kind="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
            {open.value ? "Less" : "More"}
          </Button>
        )}
      </div>
      <ul>
        {writes.slice(0, SHOWN).map((write, index) => (
          <Write key={index} write={write} />
        ))}
      </ul>
      {all > SHOWN && <p class="note dim">{counted(all - SHOWN, "more write")}.</p>}
    </section>
  );
}

function Write({ write: { channel, task, value, owner } }: { write: WriteInfo }) {
  const meaning = Object.hasOwn(meanings, channel) ? meanings[channel] : undefined;
  return (
    <li class={`write ground ${meaning?.kind ?? ""}`} data-testid="write-row" data-channel={channel}>
      <em class="row tone">
        {meaning !== undefined && <Icon name={meaning.icon} />}
        <code>{shown(channel, 80)}</code>
        {meaning !== undefined && <span class="small">{meaning.name}</span>}
      </em>
      <span class="wrap">
        <Preview form={value} />
      </span>
      <span class="soft cut small" title={shown(task)}>
        {owner === null ? "pending" : "applied"} · task {shown(task, 8)}
      </span>
    </li>
  );
}

/** A value with its entries, on a few lines. */
export function Preview({ form, length = 600 }: { form: unknown; length?: number }) {
  if (typeof form === "string") return <span class="v-text">{`"${shown(form, length)}"`}</span>;
  if (moreOf(form) !== null || insideOf(form, 0) === null) return <Value form={form} />;
  return <code class="soft">{textOf(form, length)}</code>;
}
