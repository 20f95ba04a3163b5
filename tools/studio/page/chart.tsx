// Charts: the size of the state at each step, and the number of saves in each hour.
import { useMemo } from "preact/hooks";
import type { CheckpointInfo, SavedPerHour } from "./api.js";
import { bytes, count, counted, hour } from "./format.js";

const WIDTH = 600;
const HEIGHT = 56;

/** The maximum number of points of a curve. */
const POINTS = 300;

/** Returns at most `POINTS` checkpoints, oldest first: the largest one of each group of neighbors. */
function pointsOf(steps: readonly CheckpointInfo[]): CheckpointInfo[] {
  const per = Math.max(1, Math.ceil(steps.length / POINTS));
  const points: CheckpointInfo[] = [];
  for (let index = steps.length - 1; index >= 0; index -= per) {
    let most = steps[index]!;
    for (let each = index; each > Math.max(-1, index - per); each--) {
      if (steps[each]!.bytes.logical > most.bytes.logical) most = steps[each]!;
    }
    points.push(most);
  }
  return points;
}

interface GrowthProps {
  steps: readonly CheckpointInfo[];
  current: CheckpointInfo | null;
  look: (id: string) => void;
}

/** The size of the state at each step. A click selects the step. */
export function Growth({ steps, current, look }: GrowthProps) {
  const points = useMemo(() => pointsOf(steps), [steps]);
  if (points.length < 2) return null;
  const peak = Math.max(1, ...points.map((point) => point.bytes.logical));
  const x = (index: number): number => (index / (points.length - 1)) * WIDTH;
  const y = (size: number): number => HEIGHT - 2 - (size / peak) * (HEIGHT - 8);
  const line = points.map(
    (point, index) => `${index === 0 ? "M" : "L"}${x(index).toFixed(1)} ${y(point.bytes.logical).toFixed(1)}`,
  );
  const stored = points.map((point, index) => `L${x(index).toFixed(1)} ${y(point.bytes.stored).toFixed(1)}`);
  const marked = current === null ? -1 : points.findLastIndex(({ step }) => step <= current.step);
  const newest = steps[0]!;
  const total = steps.reduce((sum, each) => sum + each.bytes.stored, 0);
  return (
    <figure class="growth part">
      <figcaption class="row small soft">
        <span class="grow">State size by step</span>
        <span class="legend logical row dim">{bytes(newest.bytes.logical)} now</span>
        <span class="legend row dim">
          <span>
            {bytes(total)} stored<span class="wide-only"> for all steps</span>
          </span>
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The state is ${bytes(newest.bytes.logical)} now, and was ${bytes(peak)} at most`}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const index = Math.round(((event.clientX - box.left) / box.width) * (points.length - 1));
          const point = points[Math.max(0, Math.min(points.length - 1, index))];
          if (point !== undefined) look(point.id);
        }}
      >
        <path fill="var(--accent)" fill-opacity="0.14" d={`${line.join("")}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}z`} />
        <path fill="var(--accent)" fill-opacity="0.75" d={`M0 ${HEIGHT}${stored.join("")}L${WIDTH} ${HEIGHT}z`} />
        <path fill="none" stroke="var(--accent)" stroke-width="1.5" d={line.join("")} />
        {marked !== -1 && (
          <path stroke="var(--text)" stroke-dasharray="2 2" d={`M${x(marked).toFixed(1)} 0V${HEIGHT}`} />
        )}
      </svg>
    </figure>
  );
}

/** The number of checkpoints that were saved in each hour, as bars. */
export function HoursChart({ hours }: { hours: readonly SavedPerHour[] }) {
  const most = Math.max(1, ...hours.map(({ saved }) => saved));
  return (
    <>
      <ol class="hours" aria-label="Checkpoints saved per hour over the last day">
        {hours.map(({ at, saved }) => (
          <li key={at} class="grow" title={`${hour(at)}: ${counted(saved, "checkpoint")}`}>
            <span class="bar column" role="img" aria-label={`${count(saved)} at ${hour(at)}`}>
              <span class="grow" style={{ height: `${(saved / most) * 100}%` }} />
            </span>
          </li>
        ))}
      </ol>
      <p class="ticks row dim small" aria-hidden="true">
        {hours
          .filter((_, index) => index % 6 === 5 || index === 0)
          .map(({ at }) => (
            <span key={at}>{hour(at)}</span>
          ))}
      </p>
    </>
  );
}
