/** Draws checkpoints and their parents like `git log --graph`: newest first, with a lane for each branch. */

import { stepName } from "../../ts/inspect/step-name.js";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { type PlacedEffects, effectCell } from "./effect-signs.js";
import { ShortIds } from "./short-ids.js";
import { type Format, type Style, statusCell } from "./style.js";
import { cut, pad, width } from "./table.js";
import { ago, localTime } from "./units.js";
import { clipped } from "./wrap.js";
import type { CheckpointInfo, EffectInfo, RunInfo } from "../../ts/plugin/views.js";

const colors: Format[] = ["cyan", "green", "magenta", "yellow", "blue", "red"];

/** The maximum width of the label column. A longer label does not widen it. */
const LONGEST_LABEL = 24;

/** Returns the next nodes of a checkpoint as a text, or an empty text. */
export type NextOf = (checkpoint: CheckpointInfo) => string;

/**
 * Returns the lines of a tree: the checkpoints, given in ascending order, the runs forked from them, and the effects
 * begun from them. `most` is the width of the terminal. For wider lines, ids are shortened so that they differ from all
 * others in `ids`.
 */
export function drawTree(
  checkpoints: CheckpointInfo[],
  forks: RunInfo[],
  style: Style,
  most: number,
  nextOf: NextOf = () => "",
  effects: PlacedEffects = new Map(),
  ids: readonly string[] = [],
): string[] {
  const left = new Set(checkpoints.map(({ id }) => id));
  const forksOf = new Map<string | undefined, RunInfo[]>();
  for (const fork of forks) {
    const from = fork.forkedFrom?.id;
    forksOf.set(from, [...(forksOf.get(from) ?? []), fork]);
  }
  const stepWidth = String(checkpoints.at(-1)?.step ?? 0).length;
  const widest = checkpoints.reduce((most, each) => Math.max(most, width(named(each, ""))), 0);
  const labelWidth = Math.min(LONGEST_LABEL, widest);
  const lanes = new Lanes(style);
  const short = new ShortIds(
    checkpoints.map(({ id }) => id),
    ids,
  );
  const lines: Row[] = [];
  const add = (row: string, text: TextOf, time: string, next = "") => lines.push({ row, text, next, time });
  for (const each of checkpoints.toReversed()) {
    const { lane, tip } = lanes.reach(each.id);
    for (const fork of forksOf.get(each.id) ?? []) {
      const row = lanes.fork(each.id, lane, tip);
      add(row, (most) => forkText(fork, style, most), "");
    }
    lines.push(...lanes.join(each.id, lane, tip).map((row): Row => ({ row, text: () => "", next: "", time: "" })));
    for (const effect of (effects.get(each) ?? []).toReversed()) {
      const row = lanes.row(lane, tip ? " " : "|");
      add(row, (most) => effectText(effect, stepWidth, style, most), localTime(effect.startedAt));
    }
    const next = nextOf(each);
    const text = (most: number) => {
      if (most === Number.POSITIVE_INFINITY)
        return checkpointText(each, named(each, "-"), stepWidth, labelWidth, style);
      const [id, name] = [short.fit(each.id, short.least), cut(named(each, "-"), labelWidth)];
      return checkpointText({ ...each, id }, name, stepWidth, labelWidth, style);
    };
    add(lanes.row(lane, "*"), text, localTime(each.savedAt), safeText(next));
    left.delete(each.id);
    const { parent } = each;
    lanes.leave(lane, parent !== null && parent.run === each.run && left.has(parent.id) ? parent.id : undefined);
  }
  for (const effect of (effects.get(null) ?? []).toReversed()) {
    add(" ", (most) => effectText(effect, stepWidth, style, most), localTime(effect.startedAt));
  }
  const whole = lines.map((line) => rowText(line, style, Number.POSITIVE_INFINITY));
  return whole.every((line) => width(line) <= most) ? whole : lines.map((line) => rowText(line, style, most));
}

/** Returns a text of at most this width. Infinity: the complete text. */
type TextOf = (most: number) => string;

/** A row of the drawing: its lanes, a text, the next nodes and a time. */
interface Row {
  row: string;
  text: TextOf;
  next: string;
  time: string;
}

/** Next nodes are left out in less space. */
const SHORTEST_NEXT = 8;

/** Formats a row. If it is too wide, first the next nodes are cut, then the text, and never the time. */
function rowText({ row, text, next, time }: Row, style: Style, most: number): string {
  const after = time === "" ? "" : `  ${style("dim", time)}`;
  const room = most - width(row) - 1 - width(after);
  const said = text(room);
  if (said === "") return row;
  const left = room - width(said) - 4;
  const then = next === "" || left < Math.min(SHORTEST_NEXT, width(next)) ? "" : `  → ${cut(next, left)}`;
  const isNarrow = most !== Number.POSITIVE_INFINITY;
  return isNarrow
    ? clipped(`${row} ${pad(clipped(`${said}${then}`, room), time === "" ? 0 : room)}${after}`, most)
    : `${row} ${said}${then}${after}`;
}

/** The lanes of a drawing, from the top down. */
class Lanes {
  readonly #style: Style;
  /** The checkpoint at the lower end of each lane. Undefined: the lane is free. */
  readonly #to: Array<string | undefined> = [];

  constructor(style: Style) {
    this.#style = style;
  }

  /** Returns the lane of a checkpoint. `tip`: no lane led to it, so nothing is drawn above it. */
  reach(id: string): { lane: number; tip: boolean } {
    const lane = this.#to.indexOf(id);
    return lane >= 0 ? { lane, tip: false } : { lane: this.#claim(id, 0), tip: true };
  }

  /** Begins a lane with the mark of a fork. The lane joins the checkpoint below. */
  fork(id: string, of: number, tip: boolean): string {
    return this.row(this.#claim(id, of + 1), ">", tip ? of : undefined);
  }

  /** Takes the first free lane from a position on. */
  #claim(id: string, from: number): number {
    let lane = from;
    while (this.#to[lane] !== undefined) lane += 1;
    this.#to[lane] = id;
    return lane;
  }

  /** Draws a row with a mark in a lane. `hidden` is a lane that has not begun. */
  row(marked: number, mark: string, hidden?: number): string {
    const cells = Array.from(this.#to, (to, lane) => {
      if (lane === marked) return this.#style(colorOf(lane), mark);
      return to === undefined || lane === hidden ? " " : this.#style(colorOf(lane), "|");
    });
    return cells.join(" ");
  }

  /** Draws the rows in which the other lanes of a checkpoint join its lane. Frees these lanes. */
  join(id: string, into: number, tip: boolean): string[] {
    const rows: string[] = [];
    for (let lane = this.#to.length - 1; lane > into; lane--) {
      if (this.#to[lane] !== id) continue;
      this.#to[lane] = undefined;
      const hidden = tip ? into : undefined;
      if (lane - into > 1) rows.push(this.#slope(lane, into + 1, lane, hidden));
      rows.push(this.#slope(into + 1, into, lane, hidden));
    }
    this.#trim();
    return rows;
  }

  /** Draws a line between two lanes, `|_|/` or `|/`, in the color of the ending lane. */
  #slope(from: number, into: number, ends: number, hidden: number | undefined): string {
    const columns = Math.max(this.#to.length, from) * 2;
    const cells = Array.from({ length: columns }, (_, column) => {
      const lane = column / 2;
      if (column === from * 2 - 1) return this.#style(colorOf(ends), "/");
      if (this.#to[lane] !== undefined && lane !== hidden) return this.#style(colorOf(lane), "|");
      return column > into * 2 && column < from * 2 ? this.#style(colorOf(ends), "_") : " ";
    });
    return cells.join("").trimEnd();
  }

  /** Continues a lane down to another checkpoint, or ends it. */
  leave(lane: number, to: string | undefined): void {
    this.#to[lane] = to;
    this.#trim();
  }

  /** Removes the free lanes at the end. */
  #trim(): void {
    while (this.#to.length > 0 && this.#to.at(-1) === undefined) this.#to.pop();
  }
}

function colorOf(lane: number): Format {
  return colors[lane % colors.length]!;
}

const named = (checkpoint: CheckpointInfo, unknown: string) => safeText(stepName(checkpoint) ?? unknown);

function checkpointText(
  { step, id }: CheckpointInfo,
  name: string,
  stepWidth: number,
  labelWidth: number,
  style: Style,
) {
  const parts = [pad(String(step), stepWidth, "right"), style("bold", safeText(id))];
  if (labelWidth > 0) parts.splice(1, 0, pad(name, labelWidth));
  return parts.join("  ");
}

function effectText(effect: EffectInfo, stepWidth: number, style: Style, most: number): string {
  const { text, format } = effectCell(effect);
  const key = cut(safeText(effect.key), Math.max(1, most - stepWidth - width(text) - 4));
  return [" ".repeat(stepWidth), style(format, text), key].join("  ");
}

function forkText({ run, space, status, active }: RunInfo, style: Style, most: number): string {
  const cell = statusCell(status ?? "unknown");
  const shown = status === null ? [] : [style(cell.format, cell.text)];
  const facts = [...shown, style("dim", `${safeText(space)}, active ${ago(active)}`)].join("  ");
  const id = cut(safeText(run), Math.max(8, most - width(facts) - 2));
  return `${style("bold", id)}  ${facts}`;
}
