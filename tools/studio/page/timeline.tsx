// The checkpoints of a run, the newest first, with the lanes of its branches and the runs that were forked from it.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { CheckpointInfo, CheckpointRef, RunInfo } from "./api.js";
import { at, bytes, clock, count, counted, duration, halves, shown } from "./format.js";
import { Icon } from "./icons.js";
import { listKeys, useKeys } from "./keys.js";
import { Lanes, widthOf } from "./lanes-view.js";
import type { Row } from "./lanes.js";
import { address, addressOfRun, go } from "./route.js";
import type { RunView } from "./run-data.js";
import { Bar, Empty, Id, Skeleton, StatusMark } from "./ui.js";
import { VirtualList } from "./virtual.js";

const ROW = 36;

export function Timeline({ view, openState }: { view: RunView; openState: () => void }) {
  const layout = view.layout.value;
  const steps = view.steps.value;
  const { rows, rowOf } = layout;
  const current = view.current.value;
  const currentRow = current === null ? -1 : (rowOf.get(current.id) ?? -1);
  const other = rowOf.get(address.value.parameters["vs"] ?? "") ?? -1;
  useKeys({
    ...listKeys((by) => view.move(by), steps.length),
    "[": () => view.move(1),
    "]": () => view.move(-1),
    Enter: openState,
  });
  const keys = useMemo(
    () => ({
      at: (index: number) => keyOfRow(rows[index], steps),
      indexOf: (key: string) => rowOf.get(key) ?? -1,
    }),
    [rows, rowOf, steps],
  );
  const largest = useMemo(() => steps.reduce((most, { bytes: { logical } }) => Math.max(most, logical), 1), [steps]);
  const timeOf = useMemo(() => new Map(steps.map(({ id, savedAt }) => [id, savedAt])), [steps]);
  if (steps.length === 0) {
    return view.loading.value ? <Skeleton rows={8} /> : <Empty title="This run has no checkpoints" />;
  }
  return (
    <VirtualList
      role="listbox"
      aria-label="Checkpoints, the newest first"
      aria-activedescendant={currentRow === -1 ? undefined : `step-${currentRow}`}
      testId="timeline"
      count={rows.length}
      rowHeight={ROW}
      current={currentRow}
      currentKey={current?.id ?? null}
      keys={keys}
      style={{ "--lanes": `${widthOf(layout.lanes)}px` }}
      onWindow={(_, end) => {
        if (end > rows.length - 40) void view.loadMore();
      }}
      tail={view.loading.value && <Skeleton rows={2} />}
    >
      {(start, end) => (
        <>
          <Lanes layout={layout} rowHeight={ROW} start={start} end={end} current={currentRow} other={other} />
          {rows.slice(start, end).map((row, index) => {
            const at = start + index;
            const own: RowProps = {
              id: `step-${at}`,
              role: "option",
              "aria-posinset": at + 1,
              "aria-setsize": rows.length,
            };
            if (row.kind === "fork")
              return <ForkRow key={`f${row.index}`} {...own} run={view.forks.value[row.index]!} />;
            if (row.kind === "forks") return <MoreForksRow key={`m${row.of}`} {...own} row={row} view={view} />;
            if (row.kind === "origin") return <OriginRow key="origin" {...own} from={steps.at(-1)!.parent!} />;
            const step = steps[row.index]!;
            return (
              <StepRow
                key={step.id}
                {...own}
                step={step}
                lane={row.lane}
                since={step.parent === null ? undefined : timeOf.get(step.parent.id)}
                largest={largest}
                isCurrent={at === currentRow}
                isOther={at === other}
                view={view}
              />
            );
          })}
        </>
      )}
    </VirtualList>
  );
}

const keyOfRow = (row: Row | undefined, steps: readonly CheckpointInfo[]): string | undefined =>
  row?.kind === "step" ? steps[row.index]?.id : undefined;

interface RowProps {
  id: string;
  role: "option";
  "aria-posinset": number;
  "aria-setsize": number;
}

interface StepRowProps extends RowProps {
  step: CheckpointInfo;
  lane: number;
  /** When the parent was saved. */
  since: number | undefined;
  largest: number;
  isCurrent: boolean;
  isOther: boolean;
  view: RunView;
}

function StepRow({ step, lane, since, largest, isCurrent, isOther, view, ...own }: StepRowProps) {
  const { id, label, bytes: size, savedAt } = step;
  return (
    <div
      {...own}
      class={`step-row line ${isOther ? "other" : ""}`}
      aria-selected={isCurrent}
      data-testid="step-row"
      data-id={id}
      data-step={step.step}
      data-lane={lane}
      onClick={(event) => (event.altKey ? view.compare(id) : view.look(id))}
    >
      <span class="mono number dim">{count(step.step)}</span>
      <span class="label cut">{label === null || label === "" ? <span class="dim">step</span> : shown(label, 80)}</span>
      <Id id={id} class="dim wide-only" />
      <span class="size row number" title={`${bytes(size.logical)}, stored in ${bytes(size.stored)}`}>
        <Bar part={size.logical / largest} kind="wide-only" />
        <span>{bytes(size.logical)}</span>
      </span>
      <time class="number dim" title={at(savedAt)}>
        {since === undefined ? clock(savedAt) : `+${duration(savedAt - since)}`}
      </time>
    </div>
  );
}

interface LinkRowProps extends RowProps {
  onClick: () => void;
  /** Whether the row leads away from the run. */
  leads?: boolean;
  children: ComponentChildren;
  [data: `data-${string}`]: string;
}

/** A row that is no checkpoint. */
function LinkRow({ leads = true, children, ...own }: LinkRowProps) {
  return (
    <div {...own} class="step-row line row soft" aria-selected={false}>
      <span class="grow row">
        <Icon name="fork" class="dim" />
        {children}
      </span>
      {leads && <Icon name="open" class="dim" />}
    </div>
  );
}

function ForkRow({ run, ...own }: RowProps & { run: RunInfo }) {
  return (
    <LinkRow {...own} data-testid="fork-link" data-run={run.run} onClick={() => go(addressOfRun(run))}>
      <Id id={run.run} class="accent link" />
      <span class="dim wide-only">{counted(run.checkpoints, "step")}</span>
      {run.status !== null && <StatusMark status={run.status} />}
    </LinkRow>
  );
}

function MoreForksRow({ row, view, ...own }: RowProps & { row: { of: string; count: number }; view: RunView }) {
  const show = () => (view.opened.value = new Set(view.opened.value).add(row.of));
  return (
    <LinkRow {...own} leads={false} onClick={show}>
      <span>{count(row.count)} more forks</span>
    </LinkRow>
  );
}

function OriginRow({ from, ...own }: RowProps & { from: CheckpointRef }) {
  const { head, tail } = halves(from.id);
  return (
    <LinkRow {...own} data-testid="origin-link" onClick={() => go(addressOfRun(from, from.id))}>
      <span class="dim wide-only">from</span>
      <Id id={from.run} class="accent link" />
      <span class="dim cut wide-only" title={head + tail}>
        at {tail || head}
      </span>
    </LinkRow>
  );
}
