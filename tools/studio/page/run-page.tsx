// The page of a run: its head, its timeline, and the selected checkpoint.
import { traitsOf } from "../../../ts/contracts/registry.js";
import { type ReadonlySignal, effect, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { type RunInfo, type RunRef, api, isFile } from "./api.js";
import { Growth } from "./chart.js";
import { CheckpointPane } from "./checkpoint-pane.js";
import { now } from "./clock.js";
import { withoutVs } from "./compare.js";
import { EffectDialog, effectKey } from "./effect-dialog.js";
import { Choice } from "./fields.js";
import { ForkDialog } from "./fork-dialog.js";
import { whyNoFork } from "./forkable.js";
import { ago, at, bytes, counted, duration, shown } from "./format.js";
import { useKeys } from "./keys.js";
import { address, addressOfRun, backToRuns, change, formatAddress, go, linkToRun } from "./route.js";
import { Questions } from "./questions-view.js";
import { RunView, refOf } from "./run-data.js";
import { store } from "./store.js";
import { RunViews } from "./run-views.js";
import { Stop } from "./stop-button.js";
import { Take } from "./take-dialog.js";
import { UsageFacts, useUsage } from "./usage-view.js";
import {
  Button,
  ErrorBox,
  Id,
  Labels,
  SpaceMark,
  StatusMark,
  StrandedMark,
  copy,
  keyOf,
  say,
  strandedText,
} from "./ui.js";

export function RunPage() {
  const ref = refOf(address.value.parameters);
  return <Run key={keyOf(ref)} of={ref} />;
}

/** Whether a checkpoint covers the timeline: see styles/narrow.css. */
const isNarrow = () => matchMedia("(max-width: 760px)").matches;

function back(): void {
  if (isNarrow() && address.value.parameters["at"] !== undefined) change({ at: null, ...withoutVs });
  else go(backToRuns());
}

function Run({ of }: { of: RunRef }) {
  const view = useMemo(() => new RunView(of), []);
  const forking = useSignal(false);
  const pane = useRef<HTMLElement>(null);
  useEffect(() => view.start(), []);
  useUsage(view);
  const write = store.value?.write === true;
  const current = view.current.value;
  const whyNot = whyNoFork(of.space);
  const openFork = () => {
    // Right after the start, the studio's permissions are not yet loaded.
    if (store.value === null) void known(store).then(openFork);
    else if (!store.value.write) say("The studio is read-only. Start it with --write to fork");
    else if (whyNot !== null) say(whyNot);
    else if (view.current.value === null) void known(view.current).then(openFork);
    else forking.value = true;
  };
  const openState = () => {
    if (current !== null && isNarrow()) view.look(current.id);
    pane.current?.querySelector<HTMLElement>("[role=tree], .diff, .conversation")?.focus();
  };
  useKeys({ f: openFork, Escape: back });

  if (view.trouble.value !== null && view.steps.value.length === 0) {
    return (
      <main class="locked stack grow" aria-labelledby="page-title">
        <h1 id="page-title" class="hidden">
          {shown(of.run, 200)}
        </h1>
        <ErrorBox trouble={view.trouble.value} retry={() => void view.load()} />
        <a class="button" href={formatAddress(backToRuns())}>
          Back to runs
        </a>
      </main>
    );
  }
  return (
    <main
      class="run stack grow"
      aria-labelledby="page-title"
      data-at={address.value.parameters["at"] === undefined ? "no" : "yes"}
    >
      <Head view={view} write={write} openFork={openFork} />
      {view.info.value !== null && MAY_ASK.has(view.info.value.status) && view.isShown.value && (
        <Questions
          of={of}
          version={`${view.info.value.status} ${view.info.value.latest.id}`}
          write={write}
          done={() => void view.load()}
        />
      )}
      <div class="columns grow">
        <section class="panel stack steps" aria-label="Timeline">
          {view.trouble.value !== null && <ErrorBox trouble={view.trouble.value} retry={() => void view.load()} />}
          <Growth steps={view.steps.value} current={current} look={(id) => view.look(id)} />
          <RunViews view={view} openState={openState} />
        </section>
        <section class="panel stack pane" aria-label="Checkpoint" ref={pane}>
          <CheckpointPane view={view} back={back} openFork={openFork} />
        </section>
      </div>
      {view.shownEffect.value !== null && (
        <EffectDialog
          of={
            view.effects.value.find((each) => effectKey(each) === effectKey(view.shownEffect.value!)) ??
            view.shownEffect.value
          }
          close={() => (view.shownEffect.value = null)}
        />
      )}
      {forking.value && current !== null && (
        <ForkDialog
          of={of}
          from={current}
          size={view.sizeOf(current)}
          isWaiting={view.info.value?.status === "waiting"}
          close={() => (forking.value = false)}
          done={() => void view.load()}
        />
      )}
    </main>
  );
}

/** Runs with these statuses may have questions, or unused answers. */
const MAY_ASK: ReadonlySet<string> = new Set(["waiting", "unfinished", "stopped"]);

/** Resolves when the signal has a value. */
function known(signal: ReadonlySignal<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (signal.value === null) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

interface HeadProps {
  view: RunView;
  write: boolean;
  openFork: () => void;
}

function Head({ view, write, openFork }: HeadProps) {
  const { ref, info: known } = view;
  const info = known.value;
  return (
    <header class="run-head stack">
      <div class="title row">
        <a class="dim link" href={formatAddress(backToRuns())}>
          Runs
        </a>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <SpaceMark space={ref.space} />
        <h1 id="page-title" class="row" data-testid="run-title">
          <Id id={ref.run} />
        </h1>
        <Button kind="quiet" icon="copy" name="Copy the run id" onClick={() => void copy(ref.run, "the id")} />
        {info !== null && <StatusMark status={info.status} testId="run-status" />}
        {info !== null && <StrandedMark stranded={info.stranded} />}
        {info?.statusWhy && <span class="why soft cut">{shown(info.statusWhy, 160)}</span>}
        <span class="grow wide-only" />
        {!isFile && (
          <Button
            kind="quiet"
            icon="search"
            testId="grep-this"
            name="Search in this run"
            onClick={() => go({ page: "search", parameters: { ...addressOfRun(ref).parameters, steps: "all" } })}
          />
        )}
        <Namespaces of={ref} />
        <Stop of={ref} info={info} write={write} done={() => void view.load()} />
        <Take of={ref} info={info} />
        <Button
          kind="primary"
          icon="fork"
          hint="f"
          testId="fork"
          disabled={!write || whyNoFork(ref.space) !== null}
          title={write ? undefined : "The studio is read-only. Start it with --write to fork."}
          onClick={openFork}
        >
          Fork
        </Button>
      </div>
      {info !== null && info.stranded !== null && (
        <p class="small soft" data-testid="stranded-why">
          {strandedText(info.stranded)}
        </p>
      )}
      {info !== null && <Facts info={info} view={view} />}
    </header>
  );
}

function Facts({ info, view }: { info: RunInfo; view: RunView }) {
  const { group, checkpoints, bytes: size, began, active, forkedFrom, labels, lease, stopped } = info;
  return (
    <ul class="facts row small soft">
      <li>{counted(checkpoints, "step")}</li>
      {size !== null && (
        <li>
          {bytes(size.logical)} in <em>{bytes(size.stored)}</em>
          {size.stored > 0 && size.logical > size.stored && (
            <span class="dim wide-only"> {(size.logical / size.stored).toFixed(1)}× smaller</span>
          )}
        </li>
      )}
      <UsageFacts view={view} />
      {group && <li>group {shown(group, 80)}</li>}
      {Object.keys(labels).length > 0 && (
        <li>
          <Labels labels={labels} />
        </li>
      )}
      {began !== null && (
        <li class="wide-only" title={at(began)}>
          started {ago(began, now.value)}
          {active - began >= 1_000 && <span class="dim"> (ran {duration(active - began)})</span>}
        </li>
      )}
      <li title={at(active)}>active {ago(active, now.value)}</li>
      {stopped !== null && (
        <li title={at(stopped.at)} data-testid="run-stopped">
          stopped {ago(stopped.at, now.value)}
          {stopped.by !== null && <> by {shown(stopped.by, 80)}</>}
        </li>
      )}
      {forkedFrom !== null && (
        <li>
          forked from{" "}
          <a class="link accent" data-testid="run-origin" href={linkToRun(forkedFrom, forkedFrom.id)}>
            <Id id={forkedFrom.run} />
          </a>
        </li>
      )}
      {lease !== null && (
        <li title={`until ${at(lease.until)}`}>
          leased to <code>{shown(lease.holder, 80)}</code>
        </li>
      )}
    </ul>
  );
}

/** The subgraphs of a thread, if it has any. */
function Namespaces({ of }: { of: RunRef }) {
  const hasSeveral = traitsOf(of.space).namespaces === "subgraph";
  // Without an answer, the run is shown without them.
  const { answer } = useAnswer((signal) => (hasSeveral ? api.namespaces(of, signal) : undefined), []);
  const names = (answer.value?.runs ?? []).filter(({ run }) => run === of.run).map(({ ns }) => ns ?? "");
  if (names.length < 2) return null;
  return (
    <Choice
      name="Graph"
      value={of.ns ?? ""}
      options={names.toSorted().map((ns) => [ns, ns === "" ? "root graph" : shown(ns, 60)])}
      onChoice={(ns) => go(addressOfRun({ ...of, ns }))}
    />
  );
}
