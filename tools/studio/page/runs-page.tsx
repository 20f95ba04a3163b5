// The list of runs.
import { stepName } from "../../../ts/inspect/step-name.js";
import { useComputed, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { now } from "./clock.js";
import { listen } from "./events.js";
import { Choice, SearchField } from "./fields.js";
import { ago, at, count, counted, shown } from "./format.js";
import { Icon } from "./icons.js";
import { listKeys, useKeys } from "./keys.js";
import { address, addressOfRun, change, go } from "./route.js";
import { Import } from "./import-dialog.js";
import * as list from "./runs-data.js";
import { Searching, StatusChips, TimeChoice, statuses } from "./runs-filters.js";
import * as usage from "./runs-usage.js";
import { Tokens, UsageNote } from "./runs-usage-view.js";
import { store } from "./store.js";
import { Empty, ErrorBox, Id, Labels, Size, Skeleton, SpaceMark, StatusMark, StrandedMark, news } from "./ui.js";
import { type RowProps, VirtualList } from "./virtual.js";

const ROW = 44;

const sorts = [
  ["", "Last active"],
  ["began", "Last started"],
  ["size", "Largest"],
  ["tokens", "Most tokens"],
] as const;

/** Match `version:` with a version, and `label:` with a label such as `customer=acme`, in a search. */
const VERSION = /(?:^|\s)version:(\S*)/;
const LABEL = /(?:^|\s)label:(\S*)/g;

function filterOf(parameters: Record<string, string>): list.Filter {
  const text = parameters["q"] ?? "";
  return {
    space: parameters["space"] ?? "",
    status: parameters["status"] ?? "",
    match: text.replace(VERSION, "").replace(LABEL, "").trim(),
    version: VERSION.exec(text)?.[1] ?? "",
    // A label that is still being typed has no value.
    labels: [...text.matchAll(LABEL)].map(([, label]) => label!).filter((label) => label.indexOf("=") > 0),
    since: parameters["since"] ?? "",
    sort: parameters["sort"] ?? "",
    nested: parameters["nested"] === "1",
  };
}

export function RunsPage() {
  const filter = useComputed(() => filterOf(address.value.parameters));
  const key = JSON.stringify(filter.value);
  // Waits until the user pauses typing, so that not every letter causes a request.
  const asked = useRef("");
  useEffect(() => {
    const text = address.value.parameters["q"] ?? "";
    const wait = asked.current !== "" && asked.current !== text ? 120 : 0;
    asked.current = text;
    const timer = setTimeout(() => void list.load(filter.value), wait);
    return () => clearTimeout(timer);
  }, [key]);
  useEffect(() => listen(list.hear), []);
  useEffect(() => () => usage.look([]), []);
  useSignalEffect(() => {
    if (!list.loading.value) news.value = `${counted(list.rows.value.length, "run")} listed`;
  });
  const { space, status, match, version, labels, since } = filter.value;
  const isFiltered = [space, status, match, version, since, ...labels].some((each) => each !== "");
  return (
    <main class="runs stack grow" aria-labelledby="page-title">
      <h1 id="page-title" class="hidden">
        Runs
      </h1>
      <Filters filter={filter.value} />
      <StatusChips space={space} status={status} />
      <Searching />
      <UsageNote />
      {list.trouble.value !== null && <ErrorBox trouble={list.trouble.value} retry={() => void list.reload()} />}
      {list.rows.value.length === 0 && list.loading.value && <Skeleton rows={12} />}
      {list.rows.value.length === 0 && !list.loading.value && !list.isStopped.value && list.trouble.value === null && (
        <Nothing isFiltered={isFiltered} />
      )}
      {list.rows.value.length > 0 && <Rows />}
    </main>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No runs match" testId="runs-empty">
      <p>No run matches this framework, status, time and search.</p>
      <button type="button" class="button" onClick={() => go({ page: "runs", parameters: {} })}>
        Show all runs
      </button>
    </Empty>
  ) : (
    <Empty title="No runs yet" testId="runs-empty">
      <p>Runs appear here as soon as your agent saves a checkpoint.</p>
    </Empty>
  );
}

function Filters({ filter }: { filter: list.Filter }) {
  const spaces = store.value?.spaces ?? [];
  const total =
    spaces.find((each) => each.space === filter.space)?.runs ?? spaces.reduce((sum, { runs }) => sum + runs, 0);
  // The store may not have the address's space.
  const names = [...new Set([...spaces.map(({ space }) => space), filter.space])].filter((space) => space !== "");
  // Without prices, there are no costs.
  const orders = usage.hasCosts.value || filter.sort === "cost" ? [...sorts, ["cost", "Highest cost"] as const] : sorts;
  return (
    <div class="filters row" role="search" aria-label="Runs">
      <SearchField
        name="Search by run id"
        placeholder="Search by id, version: or label:"
        testId="runs-search"
        value={address.value.parameters["q"] ?? ""}
        onText={(text) => change({ q: text || null }, true)}
      />
      <Choice
        name="Framework"
        testId="runs-filter-space"
        value={filter.space}
        options={[["", "All"], ...names.map((space) => [space, shown(space, 40)] as const)]}
        onChoice={(space) => change({ space: space || null })}
      />
      <Choice
        name="Status"
        testId="runs-filter-status"
        value={filter.status}
        options={[["", "All"], ...statuses.map((status) => [status, status] as const)]}
        onChoice={(status) => change({ status: status || null })}
      />
      <TimeChoice value={filter.since} />
      <Choice name="Sort" value={filter.sort} options={orders} onChoice={(sort) => change({ sort: sort || null })} />
      <label class="field row">
        <input
          type="checkbox"
          checked={filter.nested}
          onChange={({ currentTarget: { checked } }) => change({ nested: checked ? "1" : null })}
        />
        <span>Subgraphs</span>
      </label>
      <Import done={() => void list.reload()} />
      <span class="dim small wide-only">{counted(total, "run")}</span>
    </div>
  );
}

function Rows() {
  const rows = usage.shown.value;
  const by = usage.sort.value;
  // More rows would change the order, so a button adds them.
  const hasMore = by === null && list.cursor.value !== null;
  const current = rows.findIndex(({ key }) => key === list.selected.value);
  const move = (by: number) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, current === -1 ? 0 : current + by))];
    if (next !== undefined) list.selected.value = next.key;
  };
  const open = (index: number) => {
    const row = rows[index];
    if (row === undefined) return;
    list.selected.value = row.key;
    go(addressOfRun(row.info));
  };
  useKeys({
    ...listKeys(move, rows.length),
    Enter: () => open(current),
  });
  const largest = Math.max(1, ...rows.slice(0, 2_000).map(({ info }) => info.bytes?.stored ?? 0));
  return (
    <div class={`panel list stack grow ${by === null ? "" : "by-usage"}`} aria-busy={list.stale.value}>
      <div class="run-row header line dim small wide-only" aria-hidden="true">
        <span>Status</span>
        <span>Run</span>
        <span>Framework</span>
        <span>Newest step</span>
        <span class="number">Steps</span>
        <span class="number">Stored</span>
        <span class="number">Tokens</span>
        <span class="number">Active</span>
      </div>
      <VirtualList
        role="listbox"
        aria-label="Runs"
        testId="runs-list"
        items={rows}
        keyOf={({ key }) => key}
        rowHeight={ROW}
        current={current}
        name="run"
        keepsPlace
        onWindow={(start, end) => {
          const visible = rows.slice(start, end);
          list.look(visible);
          usage.look(visible);
          if (hasMore && end > rows.length - 30) void list.loadMore();
        }}
        tail={hasMore && <Skeleton rows={2} />}
        row={(row, own, index) => (
          <Row
            {...own}
            aria-setsize={list.cursor.value === null ? rows.length : -1}
            row={row}
            largest={largest}
            onClick={() => open(index)}
          />
        )}
      />
    </div>
  );
}

interface ListedProps extends RowProps {
  row: list.ListedRun;
  largest: number;
  onClick: () => void;
}

function Row({ row: { key, info, moved }, largest, ...own }: ListedProps) {
  const { space, run, ns, group, latest, forkedFrom } = info;
  return (
    <div
      {...own}
      class={`run-row line ${Date.now() - moved < 1_400 ? "moved" : ""}`}
      data-testid="run-row"
      data-space={space}
      data-run={run}
      data-status={info.status}
    >
      <StatusMark status={info.status} />
      <span class="asks stack">
        <span class="name row">
          <Id id={run} />
          {ns && <span class="tag cut">{shown(ns, 60)}</span>}
          <StrandedMark stranded={info.stranded} />
          {forkedFrom !== null && (
            <span class="tag" title={`forked from ${shown(forkedFrom.run, 200)}`}>
              <Icon name="fork" size={12} /> fork
            </span>
          )}
          {info.version !== null && info.version.version !== null && (
            <span class="tag cut" data-testid="run-version" title={`version ${shown(info.version.version, 200)}`}>
              {shown(info.version.version, 24)}
            </span>
          )}
          {group && <span class="dim cut">{shown(group, 60)}</span>}
          <Labels labels={info.labels} most={2} />
        </span>
        {info.question && (
          <span class="small soft cut" data-testid="run-question" title={shown(info.question, 300)}>
            {shown(info.question, 200)}
          </span>
        )}
      </span>
      <span class="wide-only">
        <SpaceMark space={space} />
      </span>
      <span class="cut">{shown(stepName(latest) ?? "-", 60)}</span>
      <span class="number wide-only">{count(info.checkpoints)}</span>
      {info.bytes === null ? <span /> : <Size size={info.bytes.stored} most={largest} />}
      <Tokens of={key} />
      <time class="number dim" title={at(info.active)}>
        {ago(info.active, now.value)}
      </time>
    </div>
  );
}
