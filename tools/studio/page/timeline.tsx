// The checkpoints of a run, newest first, with the lanes of its branches and its forks.
import { stepName } from "../../../ts/inspect/step-name.js";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { CheckpointInfo, CheckpointRef, EffectInfo, RunInfo } from "./api.js";
import { canPick, ownVs, pick, picking } from "./compare.js";
import { EffectMark, effectKey } from "./effect-dialog.js";
import { at, bytes, clock, count, counted, duration, halves, shown } from "./format.js";
import { Icon } from "./icons.js";
import { listKeys, useKeys } from "./keys.js";
import { Lanes, widthOf } from "./lanes-view.js";
import type { Row } from "./lanes.js";
import { address, addressOfRun, go } from "./route.js";
import type { RunView } from "./run-data.js";
import { Bar, Empty, Id, Skeleton, StatusMark, keyOf as keyOfRun } from "./ui.js";
import { StepUsage } from "./usage-view.js";
import { type RowProps, VirtualList } from "./virtual.js";

const ROW = 36;

export function Timeline({ view, openState }: { view: RunView; openState: () => void }) {
  const layout = view.layout.value;
  const steps = view.steps.value;
  const { rows, rowOf } = layout;
  const current = view.current.value;
  const currentRow = current === null ? -1 : (rowOf.get(current.id) ?? -1);
  const other = rowOf.get(ownVs(address.value.parameters)) ?? -1;
  useKeys({
    ...listKeys((by) => view.move(by), steps.length),
    "[": () => view.move(1),
    "]": () => view.move(-1),
    Enter: () => (picking.value === null ? openState() : current !== null && pick(current)),
  });
  const keyOf = (row: Row): string => {
    if (row.kind === "step") return steps[row.index]!.id;
    if (row.kind === "fork") return `f${keyOfRun(view.forks.value[row.index]!)}`;
    if (row.kind === "effect") return effectKey(view.effects.value[row.index]!);
    return row.kind === "forks" ? `m${row.of}` : "o";
  };
  const largest = useMemo(() => steps.reduce((most, { bytes: { logical } }) => Math.max(most, logical), 1), [steps]);
  const timeOf = useMemo(() => new Map(steps.map(({ id, savedAt }) => [id, savedAt])), [steps]);
  if (steps.length === 0) {
    return view.loading.value ? <Skeleton rows={8} /> : <Empty title="This run has no checkpoints" />;
  }
  return (
    <VirtualList
      role="listbox"
      aria-label="Checkpoints, newest first"
      testId="timeline"
      items={rows}
      keyOf={keyOf}
      rowHeight={ROW}
      current={currentRow}
      name="step"
      keepsPlace
      style={{ "--lanes": `${widthOf(layout.lanes)}px` }}
      onWindow={(_, end) => {
        if (end > rows.length - 40) void view.loadMore();
      }}
      tail={view.loading.value && <Skeleton rows={2} />}
      ground={(start, end) => (
        <Lanes layout={layout} rowHeight={ROW} start={start} end={end} current={currentRow} other={other} />
      )}
      row={(row, own, index) => {
        if (row.kind === "fork") return <ForkRow {...own} run={view.forks.value[row.index]!} />;
        if (row.kind === "forks") return <MoreForksRow {...own} row={row} view={view} />;
        if (row.kind === "effect") return <EffectRow {...own} effect={view.effects.value[row.index]!} view={view} />;
        if (row.kind === "origin") return <OriginRow {...own} from={steps.at(-1)!.parent!} />;
        const step = steps[row.index]!;
        const since = step.parent === null ? undefined : timeOf.get(step.parent.id);
        return (
          <StepRow
            {...own}
            step={step}
            lane={row.lane}
            since={since}
            largest={largest}
            isOther={index === other}
            view={view}
          />
        );
      }}
    />
  );
}

interface StepRowProps extends RowProps {
  step: CheckpointInfo;
  lane: number;
  /** When the parent was saved. */
  since: number | undefined;
  largest: number;
  isOther: boolean;
  view: RunView;
}

function StepRow({ step, lane, since, largest, isOther, view, ...own }: StepRowProps) {
  const { id, bytes: size, savedAt } = step;
  return (
    <div
      {...own}
      class={`step-row line ${isOther ? "other" : ""}`}
      data-testid="step-row"
      data-id={id}
      data-step={step.step}
      data-lane={lane}
      onClick={(event) => (event.altKey ? view.compare(id) : canPick(step) ? pick(step) : view.look(id))}
    >
      <span class="mono number dim">{count(step.step)}</span>
      <span class="label cut">
        {shown(stepName(step) ?? "-", 80)}
        <StepUsage view={view} id={id} />
      </span>
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

/** An effect of the run. Its result is loaded on demand. */
function EffectRow({ effect, view, ...own }: RowProps & { effect: EffectInfo; view: RunView }) {
  const { key, state, startedAt, endedAt, error } = effect;
  return (
    <div
      {...own}
      class="step-row effect-row line"
      data-testid="effect-row"
      data-key={key}
      data-state={state}
      title={error === null ? undefined : shown(error, 200)}
      onClick={() => (view.shownEffect.value = effect)}
    >
      <span class="cut">{shown(key, 120)}</span>
      <EffectMark state={state} />
      <time class="number dim" title={at(startedAt)}>
        {endedAt === null ? clock(startedAt) : duration(endedAt - startedAt)}
      </time>
    </div>
  );
}

interface LinkRowProps extends RowProps {
  onClick: () => void;
  /** Whether the row links to another run. */
  leads?: boolean;
  children: ComponentChildren;
  [data: `data-${string}`]: string;
}

/** A row without a checkpoint. */
function LinkRow({ leads = true, children, ...own }: LinkRowProps) {
  return (
    <div {...own} class="step-row line row soft">
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
      <StatusMark status={run.status} />
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
