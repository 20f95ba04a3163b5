// The search in the states of all runs, or of one run.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { now } from "./clock.js";
import { Check, Choice, SearchField } from "./fields.js";
import { ago, at, count, counted, shown } from "./format.js";
import * as data from "./grep-data.js";
import { listKeys, useKeys } from "./keys.js";
import { address, addressOfRun, change, go } from "./route.js";
import { statuses } from "./runs-filters.js";
import { store } from "./store.js";
import { Button, Empty, ErrorBox, Id, SpaceMark, news } from "./ui.js";
import { type RowProps, VirtualList } from "./virtual.js";

const ROW = 58;

/** Makes the parameters of the request from those of the address. */
function queryOf({ q = "", exact, regex, steps, space, status, run, ns }: Record<string, string>) {
  const query: Record<string, string> = { text: q };
  if (exact !== "1") query["ignoreCase"] = "1";
  if (regex === "1") query["regex"] = "1";
  if (steps === "all") query["allSteps"] = "1";
  for (const [name, value] of Object.entries({ space, status, run, ns })) if (value) query[name] = value;
  return query;
}

export function GrepPage() {
  const { parameters } = address.value;
  const query = queryOf(parameters);
  const key = JSON.stringify(query);
  const first = useRef(true);
  useEffect(() => {
    // Waits until the user pauses typing.
    const timer = setTimeout(() => void data.begin(query), first.current ? 0 : 150);
    first.current = false;
    return () => clearTimeout(timer);
  }, [key]);
  useEffect(() => data.stop, []);
  useSignalEffect(() => {
    if (data.state.value === "done") news.value = `${counted(data.hits.value.length, "hit")} found`;
  });
  const { value: state } = data.state;
  return (
    <main class="runs stack grow" aria-labelledby="page-title" data-testid="grep">
      <h1 id="page-title" class="hidden">
        Search
      </h1>
      <Fields />
      {data.trouble.value !== null && (
        <ErrorBox trouble={data.trouble.value} retry={() => void data.begin(query, true)} />
      )}
      {state !== "idle" && <Progress />}
      {state === "idle" && (
        <Empty title="Search in states">
          <p>Finds keys and values in the newest checkpoint of each run.</p>
        </Empty>
      )}
      {data.hits.value.length > 0 && <Hits />}
      {data.hits.value.length === 0 && state === "done" && <Empty title="Nothing found" testId="grep-none" />}
    </main>
  );
}

const flag = (name: string, value: string) => (isOn: boolean) => change({ [name]: isOn ? value : null });

function Fields() {
  const { q = "", exact, regex, steps, space = "", status = "", run } = address.value.parameters;
  const names = [...new Set([...(store.value?.spaces ?? []).map((each) => each.space), space])].filter(Boolean);
  return (
    <div class="filters row" role="search" aria-label="States">
      <SearchField
        name="Search in states"
        placeholder="Text in keys and values"
        testId="grep-input"
        value={q}
        onText={(text) => change({ q: text || null }, true)}
      />
      {run !== undefined && (
        <Button icon="close" testId="grep-run" title="Search all runs" onClick={() => change({ run: null, ns: null })}>
          Only {shown(run, 40)}
        </Button>
      )}
      {run === undefined && (
        <>
          <Choice
            name="Framework"
            value={space}
            options={[["", "All"], ...names.map((each) => [each, shown(each, 40)] as const)]}
            onChoice={(each) => change({ space: each || null })}
          />
          <Choice
            name="Status"
            value={status}
            options={[["", "All"], ...statuses.map((each) => [each, each] as const)]}
            onChoice={(each) => change({ status: each || null })}
          />
        </>
      )}
      <Check name="All steps" testId="grep-steps" checked={steps === "all"} onChange={flag("steps", "all")} />
      <Check name="Match case" testId="grep-case" checked={exact === "1"} onChange={flag("exact", "1")} />
      <Check name="Regular expression" testId="grep-regex" checked={regex === "1"} onChange={flag("regex", "1")} />
    </div>
  );
}

function Progress() {
  const { runs = 0, unreadable = {}, damaged = 0 } = data.progress.value ?? {};
  const { value: state } = data.state;
  const isOpen = state === "running" || state === "waiting";
  return (
    <div class="row small soft wrap" data-state={state} data-testid={state === "done" ? "grep-done" : "grep-progress"}>
      <span>
        {counted(data.hits.value.length, "hit")} in {counted(runs, "run")}
        {state === "running" && ", searching…"}
        {state === "stopped" && ", stopped"}
      </span>
      {Object.entries(unreadable).map(([tag, values]) => (
        <span key={tag} class="failed tone" data-testid="grep-unreadable">
          {counted(values, "value")} could not be searched: the serializer {shown(tag, 40)} is missing
        </span>
      ))}
      {damaged > 0 && (
        <span class="failed tone" data-testid="grep-damaged">
          {counted(damaged, "checkpoint")} could not be searched: damaged or too large
        </span>
      )}
      {state === "waiting" && (
        <Button testId="grep-more" onClick={data.more}>
          Find more
        </Button>
      )}
      {state === "stopped" && (
        <Button icon="again" onClick={() => void data.begin(queryOf(address.value.parameters), true)}>
          Search again
        </Button>
      )}
      {isOpen && (
        <Button icon="close" testId="grep-stop" onClick={data.stop}>
          Stop
        </Button>
      )}
    </div>
  );
}

/** Opens the run at the step of a hit, with the value selected. */
function open(hit: data.FoundHit): void {
  const to = addressOfRun(hit, hit.id);
  const view = hit.part === "rest" ? "more" : "state";
  go({ ...to, parameters: { ...to.parameters, view, part: hit.part, path: formatPath(hit.path) } });
}

function Hits() {
  const hits = data.hits.value;
  const current = Math.min(data.selected.value, hits.length - 1);
  const move = (by: number) => (data.selected.value = Math.max(0, Math.min(hits.length - 1, current + by)));
  const openAt = (index: number) => {
    data.selected.value = index;
    open(hits[index]!);
  };
  useKeys({ ...listKeys(move, hits.length), Enter: () => openAt(current) });
  return (
    <div class="panel list stack grow">
      <VirtualList
        role="listbox"
        aria-label="Hits"
        testId="grep-hits"
        items={hits}
        keyOf={({ key }) => key}
        rowHeight={ROW}
        current={current}
        name="hit"
        row={(hit, own, index) => <HitRow {...own} hit={hit} onClick={() => openAt(index)} />}
      />
    </div>
  );
}

interface HitProps extends RowProps {
  hit: data.FoundHit;
  onClick: () => void;
}

function HitRow({ hit, ...own }: HitProps) {
  const { space, run, ns, id, step, label, savedAt, part, path, snippet } = hit;
  const text = formatPath(path);
  return (
    <div
      {...own}
      class="hit-row line"
      data-testid="grep-row"
      data-space={space}
      data-run={run}
      data-id={id}
      data-part={part}
      data-path={text}
    >
      <span class="row">
        <Id id={run} />
        {ns && <span class="tag cut">{shown(ns, 60)}</span>}
        <span class="dim small">
          step {count(step)}
          {label && ` ${shown(label, 40)}`}
        </span>
        <span class="cut accent mono small grow">
          {shown(text === "" ? part : `${part}.${text}`.replace(".[", "["), 400)}
        </span>
        <span class="wide-only">
          <SpaceMark space={space} />
        </span>
        <time class="dim small" title={at(savedAt)}>
          {ago(savedAt, now.value)}
        </time>
      </span>
      <span class="cut mono small">
        {inLine(snippet.before)}
        <mark>{inLine(snippet.match)}</mark>
        {inLine(snippet.after)}
      </span>
    </div>
  );
}

const inLine = (text: string): string => shown(text.replace(/\s+/g, " "), 400);
