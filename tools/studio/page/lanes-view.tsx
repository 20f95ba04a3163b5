// Draws the lanes beside the rows of the timeline.
import { type Edge, type Layout, type Row, edgesBetween } from "./lanes.js";

/** The distance between two lanes, in pixels. */
const LANE = 14;
/** Lanes from this one on share a place. */
const MAX_LANES = 12;
const MARGIN = 14;

const x = (lane: number): number => MARGIN + Math.min(lane, MAX_LANES - 1) * LANE;

export const widthOf = (lanes: number): number => MARGIN * 2 + (Math.min(lanes, MAX_LANES) - 1) * LANE;

interface LanesProps {
  layout: Layout;
  rowHeight: number;
  start: number;
  end: number;
  /** The selected row. */
  current: number;
  /** The row to compare with. -1: none. */
  other: number;
}

export function Lanes({ layout: { rows, edges, lanes }, rowHeight, start, end, current, other }: LanesProps) {
  const width = widthOf(lanes);
  const height = (end - start) * rowHeight;
  const y = (row: number): number => (row - start + 0.5) * rowHeight;
  return (
    <svg class="lanes" data-testid="lanes" width={width} height={height} aria-hidden="true" focusable="false">
      {seen(edgesBetween(edges, start, end), start, end).map((edge) => (
        <path
          key={`${edge.kind} ${edge.from} ${edge.to} ${edge.lane}`}
          fill="none"
          stroke={colorOf(edge)}
          stroke-width="2"
          stroke-dasharray={edge.gone ? "2 4" : edge.kind === "fork" ? "3 3" : undefined}
          opacity={edge.gone ? 0.6 : undefined}
          data-testid="lane-edge"
          data-kind={edge.kind}
          d={pathOf(edge, y, rowHeight, end)}
        />
      ))}
      {rows.slice(start, end).map((row, index) => (
        <Mark
          key={start + index}
          row={row}
          y={y(start + index)}
          isNewest={row.kind === "step" && row.index === 0}
          isCurrent={start + index === current}
          isOther={start + index === other}
        />
      ))}
    </svg>
  );
}

/** Leaves out overlapping lines, because there may be thousands in the last lane. */
function seen(edges: readonly Edge[], start: number, end: number): Edge[] {
  const drawn = new Map<string, Edge>();
  for (const edge of edges) {
    const [from, to] = [Math.max(edge.from, start - 1), Math.min(edge.to, end + 1)];
    const place = `${edge.kind} ${x(edge.lane)} ${x(edge.into)} ${from} ${to}`;
    if (!drawn.has(place)) drawn.set(place, edge);
  }
  return [...drawn.values()];
}

/** The first lane has the color of the trunk. The others share six colors. */
const colorOf = ({ lane }: { lane: number }): string => `var(--lane-${lane === 0 ? 0 : ((lane - 1) % 6) + 1})`;

/** A line down the lane of the upper row, which bends into the lower row's lane just above it. */
function pathOf(
  { from, to, lane, into, gone }: Edge,
  y: (row: number) => number,
  rowHeight: number,
  end: number,
): string {
  const [left, right] = [x(lane), x(into)];
  const top = y(from);
  if (gone) return `M${left} ${top}V${top + rowHeight * 0.75}`;
  // A line that leaves the window needs no end.
  if (to > end + 1) return `M${left} ${top}V${y(end + 1)}`;
  const bottom = y(to);
  if (left === right) return `M${left} ${top}V${bottom}`;
  const bend = bottom - rowHeight;
  return `M${left} ${top}V${bend}C${left} ${bend + rowHeight * 0.6} ${right} ${bend + rowHeight * 0.4} ${right} ${bottom}`;
}

interface MarkProps {
  row: Row;
  y: number;
  isNewest: boolean;
  isCurrent: boolean;
  isOther: boolean;
}

/** A filled circle: a checkpoint of the trunk. A ring: a branch. A diamond: another run. A square: an effect. */
function Mark({ row, y, isNewest, isCurrent, isOther }: MarkProps) {
  const at = x(row.lane);
  const color = colorOf(row);
  const ring = { fill: "var(--surface)", stroke: color, "stroke-width": 2 };
  if (row.kind === "effect") return <path {...ring} d={`M${at - 3} ${y - 3}h6v6h-6z`} />;
  if (row.kind !== "step") {
    return <path {...ring} stroke-linejoin="round" d={`M${at} ${y - 5}l5 5l-5 5l-5 -5z`} />;
  }
  const disc = { fill: color, stroke: "var(--surface)", "stroke-width": 2 };
  return (
    <>
      {isCurrent && !isOther && (
        <circle
          cx={at}
          cy={y}
          r="8.5"
          fill="var(--accent)"
          fill-opacity="0.22"
          stroke="var(--accent)"
          stroke-width="1.5"
        />
      )}
      {isOther && <circle cx={at} cy={y} r="8.5" fill="none" stroke="var(--text-3)" stroke-dasharray="3 2" />}
      <circle {...(row.lane === 0 ? disc : ring)} cx={at} cy={y} r={isNewest ? 5.5 : 4.5} />
    </>
  );
}
