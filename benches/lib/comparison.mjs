// Lays out what was compared as tables: a line says what our side did, and what each peer took for the same.
import { valueOf } from "./figures.mjs";

/** A rate, and the operation that it counts. */
const COUNTED = { "saves a second": "a save" };
const RATE = /^(saves|calls|runs) a second$/;
/** The mode of our side in a file. */
const DEFAULT = "WAL, FULL";
/** A table of its own needs as many lines. Fewer ones are in a table in which each line names its peer. */
const LEAST = 3;
/** An event-loop time that is so near to the wall time is left out: nothing else could run during the call. */
const NEAR = 0.05;

/**
 * Makes tables, `[{ head, rows }]`, of lines in their order. A line has texts:
 *
 * - `work`, `what` and `mode`: what our side did. `variant` says how the work differs from that of the line before.
 * - `ours`: our figure, and if there is a peer, its name `peer`, its median `theirs`, and the `ratio`
 * - `goal`: the goal, and whether it is reached
 *
 * Lines of the same work are one line if they differ in the peer only, or in the event loop.
 */
export function tablesOf(lines) {
  const merged = withPeers(withLoop(lines.map((line) => ({ variant: "", goal: "", ...line }))));
  if (merged.length === 0) return [];
  if (merged.every(({ peers }) => peers.length === 0)) return [byMode(merged)];
  const tables = split(merged);
  const few = tables.length > 1 ? tables.filter((table) => table.lines.length < LEAST) : [];
  const mixed = few.flatMap((table) => table.lines);
  return [
    ...tables.filter((table) => !few.includes(table)).map(besidePeers),
    ...(mixed.length > 0 ? [besideOthers(mixed)] : []),
  ];
}

const isLoop = ({ what }) => what.startsWith("event loop");
const loopKey = ({ work, variant, mode, peer }, measure) => JSON.stringify([work, variant, mode, peer, measure]);

/** Puts the event loop's line into the line with the time of the same work beside the same peer. */
function withLoop(lines) {
  const loops = new Map();
  for (const line of lines.filter(isLoop)) loops.set(loopKey(line, line.what.replace(/^event loop ?/, "")), line);
  const joined = new Set();
  const timed = lines.map((line) => {
    if (isLoop(line)) return line;
    const measure = line.what.replace(/^wall time ?/, "");
    const counted = COUNTED[measure];
    const loop = loops.get(loopKey(line, counted ?? measure));
    // The unit says that a figure is a rate.
    const what = RATE.test(measure) ? "" : measure;
    const name = what === measure ? "time" : "rate";
    if (loop === undefined) return { ...line, what, name };
    joined.add(loop);
    return { ...line, what, name, ...join(line, loop, counted === undefined) };
  });
  return timed.filter((line) => !joined.has(line));
}

/** `isTime` says whether the line's figure is a time, so that the event loop's may be the same. */
function join(line, loop, isTime) {
  const isNear = (side) => isTime && Math.abs(valueOf(loop[side]) / valueOf(line[side]) - 1) <= NEAR;
  const both = (side) => (isNear(side) ? line[side] : `${line[side]}, loop ${median(loop[side])}`);
  const ours = both("ours");
  const theirs = line.theirs && both("theirs");
  const isShown = ours !== line.ours || theirs !== line.theirs;
  const goals = [line.goal, loop.goal && `${isShown ? "loop " : ""}${loop.goal}`];
  return {
    ours,
    theirs,
    ratio: isShown && line.ratio ? `${line.ratio}, ${loop.ratio}` : line.ratio,
    goal: goals.filter(Boolean).join(", "),
  };
}

/** Makes one line of lines that differ in the peer only. */
function withPeers(lines) {
  const found = new Map();
  for (const { peer, theirs, ratio = "", goal, ...line } of lines) {
    const key = JSON.stringify([line.work, line.variant, line.what, line.mode, line.ours]);
    if (!found.has(key)) found.set(key, { ...line, peers: [], goals: [] });
    const { peers, goals } = found.get(key);
    if (theirs) peers.push({ peer, theirs, ratio });
    if (goal) goals.push(goal);
  }
  return [...found.values()];
}

/** A figure without its least and most. */
const median = (text) => text.split(" (")[0];

const namesOf = ({ peers }) => peers.map(({ peer }) => peer);

/** Lines that have the same peers are a table. A line that lacks one of the peers is in it too. */
function split(lines) {
  const tables = [];
  let last;
  for (const line of lines) {
    const names = namesOf(line);
    const lacks = (count) => (table) =>
      names.every((name) => table.names.includes(name)) && table.names.length - names.length === count;
    if (last === undefined || !stays(line, last)) {
      last = tables.find(lacks(0)) ?? tables.find(lacks(1));
      if (last === undefined) tables.push((last = { names, lines: [] }));
    }
    last.lines.push(line);
  }
  return tables.map(({ names, lines }) => ({ names, lines: together(lines) }));
}

/** Whether a line goes into the table of the line before: it has no peer, or it is of the same work and has no other peer. */
function stays(line, { names, lines }) {
  const own = namesOf(line);
  const isSame = lines.at(-1).work === line.work && own.every((name) => names.includes(name));
  return own.length === 0 || isSame;
}

/** Moves each line to the first one of its work. */
function together(lines) {
  const works = [...new Set(lines.map(({ work }) => work))];
  return works.flatMap((name) => lines.filter(({ work }) => work === name));
}

/** A peer's figures, and the ratios in brackets. */
const besideText = ({ theirs, ratio }) => (ratio === "" ? theirs : `${theirs} (${ratio})`);

/** A table with a column for each peer. */
function besidePeers({ names, lines }) {
  return tableOf(lines, names, ({ peers }) =>
    names.map((name) => {
      const found = peers.find(({ peer }) => peer === name);
      return found === undefined ? "" : besideText(found);
    }),
  );
}

const named = (one) => `${one.peer.replace(": ", ", ")}: ${besideText(one)}`;

/** A table of lines that each name their peer. */
function besideOthers(lines) {
  return tableOf(together(lines), ["beside"], ({ peers }) => [peers.map(named).join("; ")]);
}

function tableOf(lines, columns, cellsOf) {
  const [{ mode }] = lines;
  const hasGoals = lines.some(({ goals }) => goals.length > 0);
  const rows = lines.map((line, at) => {
    const goals = hasGoals ? [line.goals.join(", ")] : [];
    const before = lines[at - 1];
    return [label(lines, at, before?.work === line.work ? before.mode : mode), line.ours, ...cellsOf(line), ...goals];
  });
  return { head: ["", sideOf(mode), ...columns, ...(hasGoals ? ["goal"] : [])], rows };
}

/** Our side. The mode of a file goes without saying. */
const sideOf = (mode) => (mode === DEFAULT ? "Forkpoint" : `Forkpoint: ${mode}`);

const workKey = ({ work, variant, what }) => JSON.stringify([work, variant, what]);

/** A table of lines without peers: a column for each mode. */
function byMode(lines) {
  const modes = [...new Set(lines.map(({ mode }) => mode))];
  const works = [...new Map(lines.map((line) => [workKey(line), line])).values()];
  const hasGoals = lines.some(({ goals }) => goals.length > 0);
  const rows = works.map((line, at) => {
    const same = modes.map((mode) => lines.find((one) => one.mode === mode && workKey(one) === workKey(line)));
    const goals = [...new Set(same.flatMap((one) => one?.goals ?? []))];
    const figures = same.map((one) => one?.ours ?? "");
    return [label(works, at)].concat(figures, hasGoals ? goals.join(", ") : []);
  });
  return { head: ["", ...modes.map(sideOf), ...(hasGoals ? ["goal"] : [])], rows };
}

/** The first cell of a line: its work, unless that is the work of the line before, and what differs. */
function label(lines, at, mode = lines[at].mode) {
  const [before, { work, variant, what, name, mode: own }, after] = [lines[at - 1], lines[at], lines[at + 1]];
  const rest = [own === mode ? "" : own, variant, what].filter(Boolean).join(", ");
  if (before?.work === work) return rest || name;
  const title = after?.work === work ? `**${work}**` : work;
  return rest === "" ? title : `${title}: ${rest}`;
}
