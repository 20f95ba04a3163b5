// The changes between two checkpoints.
import { traitsOf } from "../../../ts/contracts/registry.js";
import { useSignal } from "@preact/signals";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { useAnswer } from "./answer.js";
import { type Change, type Detail, type Difference, api } from "./api.js";
import { nameOf, turn, vsOf, withoutVs } from "./compare.js";
import { Sides, Whole } from "./compare-view.js";
import { at, count, counted, shown } from "./format.js";
import { Icon } from "./icons.js";
import { address, change } from "./route.js";
import type { RunView } from "./run-data.js";
import { Button, ErrorBox, Skeleton, news } from "./ui.js";
import { changedWords } from "./words.js";

/** The number of changes that are shown at first and added by "Show more". */
const SHOWN = 100;

export function DiffView({ view, detail }: { view: RunView; detail: Detail }) {
  const { id, seq } = detail.checkpoint;
  const vs = vsOf(address.value.parameters);
  const ask = async (signal: AbortSignal) => {
    const difference = await api.diff(view.ref, vs, id, signal);
    news.value = counted(difference.changes.filter(isOthers).length, "change");
    return difference;
  };
  const { answer, trouble, again } = useAnswer(ask, [id, seq, JSON.stringify(vs)]);
  const difference = answer.value;
  return (
    <div class="diff scroll" data-testid="diff" aria-label="Changes" role="region" tabIndex={0}>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} retry={again} />}
      {trouble.value === null && (difference === null || difference.to.id !== id) && <Skeleton rows={5} />}
      {trouble.value === null && difference !== null && difference.to.id === id && (
        <>
          <Target difference={difference} isChosen={vs !== null} />
          <Changes
            changes={difference.changes}
            isCut={difference.truncated}
            inColumns={vs !== null}
            of={view.ref.space}
          />
        </>
      )}
    </div>
  );
}

function Target({ difference: { from, to, changes }, isChosen }: { difference: Difference; isChosen: boolean }) {
  const numbers = (["add", "remove", "replace"] as const).map(
    (op) => [op, changes.filter((each) => each.op === op && isOthers(each)).length] as const,
  );
  return (
    <div class="facts part row small soft" data-testid="diff-target">
      <span>
        {from === null ? (
          "From nothing"
        ) : (
          <>
            From <span title={at(from.savedAt)}>{nameOf(from, to)}</span>
            {!isChosen && <span class="dim"> (parent)</span>}
          </>
        )}{" "}
        to step {count(to.step)}
      </span>
      {isChosen && (
        <>
          <Button kind="quiet" icon="again" testId="compare-turn" onClick={() => turn(to)}>
            Swap
          </Button>
          <Button kind="quiet" icon="close" onClick={() => change({ ...withoutVs, view: "diff" })}>
            Compare with the parent
          </Button>
        </>
      )}
      <span class="grow" />
      {numbers
        .filter(([, number]) => number > 0)
        .map(([op, number]) => (
          <em key={op} class={`tone ${op}`}>
            {signs[op]} {count(number)} {words[op]}
          </em>
        ))}
    </div>
  );
}

const signs = { add: "+", remove: "−", replace: "~" };
const words = { add: "added", remove: "removed", replace: "changed" };
const partNames = { state: "State", rest: "Other fields", writes: "Writes" };

/** Returns true for a change of a value that is not only for the framework. */
const isOthers = ({ own }: Change): boolean => own !== true;

interface ChangesProps {
  changes: readonly Change[];
  isCut: boolean;
  inColumns?: boolean;
  /** The framework. */
  of?: string;
}

/** The changes. Those of the framework's own values are folded into a line. */
export function Changes({ changes: all, isCut, inColumns = false, of = "" }: ChangesProps) {
  const isOpen = useSignal(false);
  const changes = all.filter(isOthers);
  const own = all.filter((each) => !isOthers(each));
  return (
    <div data-testid={inColumns ? "compare-columns" : undefined}>
      {changes.length === 0 && (
        <p class="note dim" data-testid="diff-none">
          {own.length === 0 ? "No changes." : "No other changes."}
        </p>
      )}
      <ChangeList changes={changes} isCut={isCut} inColumns={inColumns} />
      {own.length > 0 && (
        <button
          type="button"
          class="line row fold dim"
          data-testid="diff-own"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <span class="twist row">
            <Icon name="open" size={14} />
          </span>
          {counted(own.length, "change")} of {traitsOf(of).owner ?? "the framework's"} own values
        </button>
      )}
      {isOpen.value && <ChangeList changes={own} isCut={false} inColumns={inColumns} />}
    </div>
  );
}

function ChangeList({ changes, isCut, inColumns }: Required<Omit<ChangesProps, "of">>) {
  const most = useSignal(SHOWN);
  const shownChanges = changes.slice(0, most.value);
  const parts = (Object.keys(partNames) as Array<keyof typeof partNames>).filter((part) =>
    shownChanges.some((each) => each.part === part),
  );
  return (
    <>
      {parts.map((part) => (
        <section key={part} aria-label={`Changes: ${partNames[part]}`}>
          {(parts.length > 1 || part !== "state") && <h3 class="lead">{partNames[part]}</h3>}
          <ul>
            {shownChanges
              .filter((each) => each.part === part)
              .map((each, index) => (
                <ChangeRow key={index} change={each} inColumns={inColumns} />
              ))}
          </ul>
        </section>
      ))}
      {changes.length > most.value && (
        <p class="note">
          <Button icon="down" onClick={() => (most.value += SHOWN)}>
            {`Show more: ${counted(changes.length - most.value, "change")} left`}
          </Button>
        </p>
      )}
      {isCut && changes.length <= most.value && <p class="note dim">Not all changes are shown.</p>}
    </>
  );
}

/** Shows an entire write as its channel and its value. */
function writeIn(change: Change): Change {
  if (change.part !== "writes" || change.path.length !== 1) return change;
  return { ...change, before: channelIn(change.before), after: channelIn(change.after) };
}

function channelIn(write: unknown): unknown {
  const { channel, value } = (write ?? {}) as { channel?: unknown; value?: unknown };
  return typeof channel === "string" ? { [channel]: value } : write;
}

function ChangeRow({ change: all, inColumns }: { change: Change; inColumns: boolean }) {
  const change = writeIn(all);
  const { op, path, before, after } = change;
  const text = typeof before === "string" && typeof after === "string" ? changedWords(before, after) : null;
  return (
    <li class={`change ${op}`} data-testid="diff-row" data-op={op}>
      <em class="tone mono" aria-hidden="true">
        {signs[op]}
      </em>
      <div>
        <p class="row">
          <em class="grow mono wrap">{path.length === 0 ? "(entire value)" : shown(formatPath(path), 300)}</em>
          <span class="small tone">{words[op]}</span>
        </p>
        {inColumns ? (
          <Sides change={change} text={text} />
        ) : text !== null ? (
          <p class="soft mono wrap">
            {shown(text.head, 300)}
            {text.removed !== "" && <del>{shown(text.removed, 4_000)}</del>}
            {text.added !== "" && <ins>{shown(text.added, 4_000)}</ins>}
            {shown(text.tail, 300)}
          </p>
        ) : (
          <div class="values row mono wrap">
            {op !== "add" && (
              <s>
                <Whole form={before} length={1_500} />
              </s>
            )}
            {op === "replace" && <Icon name="open" size={12} class="dim" />}
            {op !== "remove" && (
              <div>
                <Whole form={after} length={1_500} />
              </div>
            )}
          </div>
        )}
      </div>
    </li>
  );
}
