/** Draws checkpoints and their parents as `git log --graph` does: newest first, with a lane for each branch. */

import { stepName } from "../../ts/inspect/step-name.js";
import { stripVTControlCharacters } from "node:util";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { type PlacedEffects, effectCell } from "./effect-signs.js";
import { type Format, type Style, statusCell } from "./style.js";
import { pad, width } from "./table.js";
import { ago, localTime } from "./units.js";
import type { CheckpointInfo, EffectInfo, RunInfo } from "../../ts/inspect/views.js";

const colors: Format[] = ["cyan", "green", "magenta", "yellow", "blue", "red"];

/** The maximum width of the label column. A longer label does not widen it. */
const LONGEST_LABEL = 24;

/** Returns the next nodes of a checkpoint as a text, or an empty text. */
export type NextOf = (checkpoint: CheckpointInfo) => string;

/**
 * Returns the lines of a tree of checkpoints, which are in ascending order, of the runs forked from them and of the effects
 * that were begun from them. `most` is the width of the terminal.
 */
export function drawTree(
  checkpoints: CheckpointInfo[],
  forks: RunInfo[],
  style: Style,
  most: number,
  nextOf: NextOf = () => "",
  effects: PlacedEffects = new Map(),
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
  const lines: string[] = [];
  const add = (row: string, text: string, time: string) => {
    const line = `${row} ${text}`;
    const fits = width(stripVTControlCharacters(line)) + 2 + time.length <= most;
    lines.push(fits && time !== "" ? `${line}  ${style("dim", time)}` : line);
  };
  for (const each of checkpoints.toReversed()) {
    const { lane, tip } = lanes.reach(each.id);
    for (const fork of forksOf.get(each.id) ?? []) {
      add(lanes.fork(each.id, lane, tip), forkText(fork, style), "");
    }
    lines.push(...lanes.join(each.id, lane, tip));
    for (const effect of (effects.get(each) ?? []).toReversed()) {
      add(lanes.row(lane, tip ? " " : "|"), effectText(effect, stepWidth, style), localTime(effect.startedAt));
    }
    const next = nextOf(each);
    const text = checkpointText(each, stepWidth, labelWidth, style);
    add(lanes.row(lane, "*"), next === "" ? text : `${text}  → ${safeText(next)}`, localTime(each.savedAt));
    left.delete(each.id);
    const { parent } = each;
    lanes.leave(lane, parent !== null && parent.run === each.run && left.has(parent.id) ? parent.id : undefined);
  }
  for (const effect of (effects.get(null) ?? []).toReversed()) {
    add(" ", effectText(effect, stepWidth, style), localTime(effect.startedAt));
  }
  return lines;
}

/** The lanes of a drawing, from the top down. */
class Lanes {
  readonly #style: Style;
  /** The checkpoint that each lane leads down to. Undefined: the lane is free. */
  readonly #to: Array<string | undefined> = [];

  constructor(style: Style) {
    this.#style = style;
  }

  /** Returns the lane of a checkpoint. `tip`: no lane led to it, so nothing is drawn above it. */
  reach(id: string): { lane: number; tip: boolean } {
    const lane = this.#to.indexOf(id);
    return lane >= 0 ? { lane, tip: false } : { lane: this.#claim(id, 0), tip: true };
  }

  /** Begins a lane with the mark of a fork, which joins the checkpoint below. */
  fork(id: string, of: number, tip: boolean): string {
    return this.row(this.#claim(id, of + 1), ">", tip ? of : undefined);
  }

  /** Takes the first free lane from a place on. */
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

  /** Draws the rows in which all other lanes of a checkpoint join its lane, and frees these lanes. */
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

  /** Draws one row of a line between two lanes, `|_|/` or `|/`, in the color of the lane that ends. */
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

  /** Leads a lane down to another checkpoint, or ends it. */
  leave(lane: number, to: string | undefined): void {
    this.#to[lane] = to;
    this.#trim();
  }

  /** Forgets the free lanes at the end. */
  #trim(): void {
    while (this.#to.length > 0 && this.#to.at(-1) === undefined) this.#to.pop();
  }
}

function colorOf(lane: number): Format {
  return colors[lane % colors.length]!;
}

const named = (checkpoint: CheckpointInfo, unknown: string) => safeText(stepName(checkpoint) ?? unknown);

function checkpointText(checkpoint: CheckpointInfo, stepWidth: number, labelWidth: number, style: Style) {
  const { step, id } = checkpoint;
  const parts = [pad(String(step), stepWidth, "right"), style("bold", safeText(id))];
  if (labelWidth > 0) parts.splice(1, 0, pad(named(checkpoint, "-"), labelWidth));
  return parts.join("  ");
}

function effectText(effect: EffectInfo, stepWidth: number, style: Style): string {
  const { text, format } = effectCell(effect);
  return [" ".repeat(stepWidth), style(format, text), safeText(effect.key)].join("  ");
}

function forkText({ run, space, status, active }: RunInfo, style: Style): string {
  const cell = statusCell(status ?? "unknown");
  const shown = status === null ? [] : [style(cell.format, cell.text)];
  return [style("bold", safeText(run)), ...shown, style("dim", `${safeText(space)}, active ${ago(active)}`)].join("  ");
}
