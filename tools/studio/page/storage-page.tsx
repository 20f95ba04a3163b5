// The storage page: the content of the store, and its size.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { type InspectedStats, type SavedPerHour, api } from "./api.js";
import { HoursChart } from "./chart.js";
import { listenAfter } from "./events.js";
import { bytes, count, counted } from "./format.js";
import { useKeys } from "./keys.js";
import { addressOfRun, backToRuns, go, linkToRun } from "./route.js";
import { Bar, Empty, ErrorBox, Id, Size, Skeleton, SpaceMark } from "./ui.js";

/** The pause before the numbers are read again after a save, in ms. */
const PAUSE = 2_000;

export function StoragePage() {
  const { answer: stats, trouble, again } = useAnswer(api.stats, []);
  // The totals come first. Counting the hours takes longer.
  const { answer: hours, trouble: noHours } = useAnswer(
    () => (stats.value === null ? undefined : api.activity()),
    [stats.value],
  );
  const shown = trouble.value ?? noHours.value;
  const chosen = useSignal(-1);
  useEffect(() => listenAfter(PAUSE, again), []);
  const largest = stats.value?.largest ?? [];
  const move = (by: number) => (chosen.value = Math.max(0, Math.min(largest.length - 1, chosen.value + by)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => {
      const run = largest[chosen.value];
      if (run !== undefined) go(addressOfRun(run));
    },
    Escape: () => go(backToRuns()),
  });
  return (
    <main class="storage tiles scroll" aria-labelledby="page-title" data-testid="storage">
      <h1 id="page-title">Storage</h1>
      {shown !== null && <ErrorBox trouble={shown} retry={again} />}
      {shown === null && stats.value === null && <Skeleton rows={8} />}
      {stats.value !== null && stats.value.checkpoints === 0 && (
        <Empty title="Nothing saved yet">
          <p>Numbers appear here after the first checkpoint.</p>
        </Empty>
      )}
      {stats.value !== null && (
        <>
          <Totals stats={stats.value} />
          <div class="tiles" style={{ "--tile": "460px" }}>
            <Spaces stats={stats.value} />
            <section class="panel card" aria-labelledby="hours-title">
              <h2 id="hours-title">Saved per hour</h2>
              {hours.value === null ? <Skeleton rows={4} /> : <Day hours={hours.value} />}
            </section>
          </div>
          <Largest largest={largest} chosen={chosen.value} />
        </>
      )}
    </main>
  );
}

function Totals({ stats }: { stats: InspectedStats }) {
  const { logicalBytes, storedBytes, ratio, fileBytes, walBytes, freeBytes, records, recordBytes } = stats;
  return (
    <section class="panel totals" aria-label="Totals">
      <div>
        <Total name="Logical" size={logicalBytes} part={1} testId="storage-logical" note="serialized size" />
        <Total
          name="Stored"
          size={storedBytes}
          part={logicalBytes === 0 ? 0 : storedBytes / logicalBytes}
          testId="storage-stored"
          note="compressed, as differences"
        />
      </div>
      <dl class="tiles" style={{ "--tile": "92px" }}>
        <Fact name="Ratio" class="large accent">
          {ratio >= 100 ? count(Math.round(ratio)) : ratio.toFixed(1)}×
        </Fact>
        <Fact name="Checkpoints">{count(stats.checkpoints)}</Fact>
        <Fact name="Runs">{count(stats.lineages)}</Fact>
        {fileBytes !== undefined && <Fact name="File">{bytes(fileBytes)}</Fact>}
        {walBytes !== null && <Fact name="WAL">{bytes(walBytes)}</Fact>}
        {freeBytes !== null && <Fact name="Free pages">{bytes(freeBytes)}</Fact>}
        {records > 0 && (
          <Fact name="Messages">
            {count(records)} <span class="dim small">{bytes(recordBytes)}</span>
          </Fact>
        )}
      </dl>
      {stats.isEstimate && <p class="dim small">These numbers are estimates, except the size of the file.</p>}
    </section>
  );
}

function Fact({ name, children, ...others }: { name: string; class?: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd {...others}>{children}</dd>
    </div>
  );
}

interface TotalProps {
  name: string;
  size: number;
  part: number;
  testId: string;
  note: string;
}

function Total({ name, size, part, testId, note }: TotalProps) {
  return (
    <>
      <p class="row">
        <span>{name}</span>
        <span class="grow dim small">
          <span class="wide-only">{note}</span>
        </span>
        <span class="large" data-testid={testId} data-bytes={size} title={`${count(size)} bytes`}>
          {bytes(size)}
        </span>
      </p>
      <Bar part={part} kind={name.toLowerCase()} />
    </>
  );
}

function Spaces({ stats }: { stats: InspectedStats }) {
  const spaces = Object.entries(stats.spaces).toSorted(([, a], [, b]) => b.storedBytes - a.storedBytes);
  const most = Math.max(1, ...spaces.map(([, { storedBytes }]) => storedBytes));
  return (
    <section class="panel card" aria-labelledby="spaces-title">
      <h2 id="spaces-title">By framework</h2>
      <table>
        <thead>
          <tr class="dim small">
            <th>Framework</th>
            <th class="number">Runs</th>
            <th class="number">Steps</th>
            <th class="number wide-only">Logical</th>
            <th class="number">Stored</th>
          </tr>
        </thead>
        <tbody>
          {spaces.map(([space, { runs, checkpoints, logicalBytes, storedBytes }]) => (
            <tr key={space}>
              <td>
                <SpaceMark space={space} />
              </td>
              <td class="number">{count(runs)}</td>
              <td class="number">{count(checkpoints)}</td>
              <td class="number wide-only">{bytes(logicalBytes)}</td>
              <td>
                <Size size={storedBytes} most={most} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Day({ hours }: { hours: readonly SavedPerHour[] }) {
  const total = hours.reduce((sum, { saved }) => sum + saved, 0);
  return (
    <>
      <p class="dim">{counted(total, "checkpoint")} in the last 24 hours</p>
      <HoursChart hours={hours} />
    </>
  );
}

function Largest({ largest, chosen }: { largest: InspectedStats["largest"]; chosen: number }) {
  const most = Math.max(1, ...largest.map(({ storedBytes }) => storedBytes));
  if (largest.length === 0) return null;
  return (
    <section class="panel card" aria-labelledby="largest-title">
      <h2 id="largest-title">Largest runs</h2>
      <ul>
        {largest.map((run, index) => (
          <li key={`${run.space} ${run.run} ${run.ns}`}>
            <a
              class="storage-run line"
              data-testid="storage-run"
              aria-current={index === chosen}
              data-run={run.run}
              href={linkToRun(run)}
            >
              <span class="wide-only">
                <SpaceMark space={run.space} />
              </span>
              <Id id={run.run} />
              <span class="number dim wide-only">{counted(run.checkpoints, "step")}</span>
              <span class="number dim wide-only">{bytes(run.logicalBytes)}</span>
              <Size size={run.storedBytes} most={most} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
