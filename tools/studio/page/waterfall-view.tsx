// The steps of a run by time: a virtual list of bars. A step's contents are below it. A pause is a gap.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { type WaterfallRow, timeOf, waterfallOf } from "../../../ts/inspect/waterfall.js";
import type { CourseAnswer } from "../course-answer.js";
import { now } from "./clock.js";
import { EffectMark } from "./effect-dialog.js";
import { at, count, duration, shown } from "./format.js";
import { listKeys, useKeys } from "./keys.js";
import { addressOfRun, go } from "./route.js";
import type { RunView } from "./run-data.js";
import { Empty, Skeleton } from "./ui.js";
import { type RowProps, VirtualList } from "./virtual.js";
import { type Scale, scaleOf } from "./waterfall-scale.js";

const ROW = 30;
/** During the load of a long run, rows are made again only after this many steps. */
const AT_ONCE = 2_500;
/** Deeper rows are not indented further. */
const DEEPEST = 6;

interface WaterfallProps {
  view: RunView;
  more: CourseAnswer | null;
  openState: () => void;
}

export function Waterfall({ view, more, openState }: WaterfallProps) {
  const loaded = view.steps.value;
  const isLoading = view.loading.value && loaded.length > AT_ONCE;
  const steps = useMemo(() => loaded, [isLoading ? Math.floor(loaded.length / AT_ONCE) : loaded]);
  const effects = view.effects.value;
  const status = view.info.value?.status;
  const rows = useMemo(
    () => waterfallOf({ steps, effects, status, subgraphs: more?.subgraphs, pauses: more?.pauses }),
    [steps, effects, status, more],
  );
  const keys = useMemo(() => keysOf(rows), [rows]);
  const indexOf = useMemo(() => new Map([...keys.values()].map((key, index) => [key, index])), [keys]);
  const time = useMemo(() => timeOf(rows), [rows]);
  /** The key of the row that the user moved to. Null: the row of the selected checkpoint. */
  const moved = useSignal<string | null>(null);
  const seen = useSignal({ start: 0, end: 200 });
  const { start, end } = seen.value;
  const scale = useMemo(() => scaleOf(rows.slice(start, end), now.value), [rows, start, end, status]);
  const own = view.current.value;
  const selected = own === null ? -1 : (indexOf.get(stepKey(own.ns, own.id)) ?? -1);
  const chosen = moved.value === null ? -1 : (indexOf.get(moved.value) ?? -1);
  const current = chosen === -1 ? selected : chosen;

  const look = (index: number, replace: boolean) => {
    const row = rows[index];
    if (row === undefined) return;
    moved.value = keys.get(row)!;
    if (isOwn(row) && row.id !== null && row.id !== own?.id) view.look(row.id, replace);
  };
  const isOwn = ({ ns }: WaterfallRow) => (ns ?? "") === (view.ref.ns ?? "");
  const open = (row: WaterfallRow | undefined) => {
    if (row === undefined) return;
    if (row.kind === "effect") {
      const found = effects.find(({ key, startedAt }) => key === row.name && startedAt === row.from);
      if (found !== undefined) view.shownEffect.value = found;
    } else if (!isOwn(row) && row.id !== null) go(addressOfRun({ ...view.ref, ns: row.ns }, row.id));
    else openState();
  };
  const step = (by: number) => {
    moved.value = null;
    view.move(by);
  };
  useKeys({
    ...listKeys((by) => look(Math.max(0, Math.min(rows.length - 1, current + by)), true), rows.length),
    "[": () => step(1),
    "]": () => step(-1),
    Enter: () => open(rows[current]),
  });
  if (rows.length === 0)
    return view.loading.value ? <Skeleton rows={8} /> : <Empty title="This run has no checkpoints" />;
  return (
    <>
      <p class="facts part row small soft" data-testid="waterfall-time">
        <span>{duration(time.work)} of steps</span>
        {time.waited > 0 && <span class="waiting tone">{duration(time.waited)} with waiting</span>}
        {more !== null && more.moreNested > 0 && <span>{count(more.moreNested)} older subgraph steps not shown</span>}
      </p>
      <VirtualList
        role="listbox"
        aria-label="Steps by time, oldest first"
        testId="waterfall"
        items={rows}
        keyOf={(row) => keys.get(row)!}
        rowHeight={ROW}
        current={current}
        name="bar"
        keepsPlace
        onWindow={(first, last) => {
          if (first !== start || last !== end) seen.value = { start: first, end: last };
          if (first < 40) void view.loadMore();
        }}
        row={(row, given, index) => (
          <Row
            {...given}
            row={row}
            scale={scale}
            onClick={() => {
              look(index, false);
              if (row.kind === "effect" || !isOwn(row)) open(row);
            }}
          />
        )}
      />
    </>
  );
}

const stepKey = (ns: string | null, id: string) => `step ${ns ?? ""} ${id}`;

/** Returns a unique key for each row. */
function keysOf(rows: readonly WaterfallRow[]): Map<WaterfallRow, string> {
  const taken = new Map<string, number>();
  return new Map(
    rows.map((row) => {
      const { kind, ns, id, name } = row;
      if (kind === "step") return [row, stepKey(ns, id ?? "")];
      const key = `${kind} ${ns ?? ""} ${id} ${name}`;
      const number = taken.get(key) ?? 0;
      taken.set(key, number + 1);
      return [row, `${key} ${number}`];
    }),
  );
}

/** The words for rows without a name. */
const words = { step: "step", task: "node", subgraph: "subgraph", wait: "waiting", effect: "effect" };

function Row({ row, scale, ...own }: RowProps & { row: WaterfallRow; scale: Scale; onClick: () => void }) {
  const { kind, name, depth, from, to, waited, state, step } = row;
  const end = to ?? (kind === "wait" ? Math.max(from, now.value) : from);
  const [left, right] = [scale.at(from), scale.at(end)];
  const text = name === null || name === "" ? words[kind] : shown(name, 80);
  const isPoint = end === from;
  return (
    <div {...own} class="bar-row line" data-testid="waterfall-row" data-kind={kind} data-depth={depth}>
      <span class="row bar-name" style={{ paddingLeft: `${Math.min(depth, DEEPEST) * 14}px` }}>
        {step !== null && depth === 0 && <span class="mono number dim">{count(step)}</span>}
        <span class={`cut ${kind === "step" ? "label" : "soft"}`} title={text}>
          {text}
        </span>
        {state !== null && <EffectMark state={state} />}
      </span>
      <span class="bar-track" aria-hidden="true">
        <span
          class={`bar-part ${kind} ${waited ? "waited" : ""} ${isPoint ? "point" : ""}`}
          style={{ left: `${(left * 100).toFixed(3)}%`, width: `${((right - left) * 100).toFixed(3)}%` }}
        />
      </span>
      <time class="number dim" title={`${at(from)} to ${to === null ? "now" : at(to)}`}>
        {isPoint && to !== null ? "" : duration(end - from)}
        {waited && <span class="hidden">{kind === "wait" ? "" : " with waiting"}</span>}
      </time>
    </div>
  );
}
