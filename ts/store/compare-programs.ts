/**
 * The shape of a program: its nodes or steps, its edges and its fields. Decides whether a run at some position of one
 * program can continue on another program. Knows no framework.
 */

import { quote } from "../bridge/errors.js";
import { hashOf } from "./mark.js";
import type { ProgramEdge, ProgramPosition, ProgramShape } from "./program-shape.js";

export type { ProgramEdge, ProgramNode, ProgramPosition, ProgramShape, ProgramVersion } from "./program-shape.js";

const hashes = new WeakMap<ProgramShape, string>();

/**
 * Returns the hash of a shape, which identifies the shape in a mark. Ignores the order of nodes, edges and fields. Do
 * not change the shape afterwards.
 */
export function shapeHash(shape: ProgramShape): string {
  const hash = hashes.get(shape) ?? newHash(shape);
  hashes.set(shape, hash);
  return hash;
}

function newHash({ program, version, nodes, edges, fields }: ProgramShape): string {
  const nodeTexts = nodes.map(({ name, effect, kind }) => JSON.stringify([name, effect ?? null, kind ?? null]));
  return hashOf([
    version ?? null,
    nodeTexts.toSorted(),
    edges.map(textOf).toSorted(),
    fields === undefined ? null : fields.toSorted(),
    ...(program === undefined ? [] : [program]),
  ]);
}

function textOf({ from, to, conditional, joins }: ProgramEdge): string {
  return JSON.stringify([from, to, conditional ?? false, joins ?? null]);
}

const namesIn = ({ nodes, fields = [] }: ProgramShape): string =>
  JSON.stringify([nodes.map(({ name }) => name).toSorted(), fields.toSorted()]);

/** Returns true if the nodes and the fields have the same names. Recognizes a program without a name. */
export function hasSameParts(one: ProgramShape, other: ProgramShape): boolean {
  return namesIn(one) === namesIn(other);
}

/**
 * Returns the differences, as sentences, for a run at a position of the old program. An empty list: the run can
 * continue on the new program, because its nodes would have led to the same position there.
 *
 * - The new program has the nodes that have run and the next nodes, with the same kind and effect class.
 * - The nodes that have run lead to the same nodes. A choice that was made may have other alternatives.
 * - If a node waits for a node that has run, the same node waits for it, together with the same nodes.
 * - All fields still exist.
 *
 * Other differences are allowed: new later nodes, other edges of the next nodes, new fields, another version.
 */
export function compareShapes(from: ProgramShape, to: ProgramShape, position: ProgramPosition): string[] {
  const known = new Set(from.nodes.map(({ name }) => name));
  const { next } = position;
  const done = [...new Set([...position.done, ...(position.ran ?? []).filter((name) => known.has(name))])];
  const ran = done.filter((name) => !next.includes(name));
  const places: Array<[name: string, place: string]> = [
    ...[...new Set(next)].map((name) => [name, "is next"] as [string, string]),
    ...ran.map((name) => [name, "has run"] as [string, string]),
  ];
  const gone = places.filter(([name]) => isGone(name, from, to));
  const there = places.filter((place) => !gone.includes(place));
  const added = to.nodes.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  const news = added.length === 0 ? "" : `; ${listOf(added.map(tick))} ${added.length > 1 ? "are" : "is"} new`;
  const lost = (from.fields ?? []).filter((field) => !(to.fields ?? from.fields ?? []).includes(field));
  const reached = new Set([...done, ...next]);
  // A removed node was the target of an edge, and a new node may now be the target. Report this only once.
  const said = gone.length === 0 ? new Set<string>() : new Set([...gone.map(([name]) => name), ...added]);
  return [
    ...gone.map(([name, place], at) => `${tick(name)}, which ${place}, is gone${at === gone.length - 1 ? news : ""}`),
    ...there.flatMap(([name, place]) => changesOf(name, place, from, to)),
    ...done
      .filter((name) => isKnown(name, from) && !gone.some(([each]) => each === name))
      .flatMap((name) => edgeChanges(name, from, to, { reached, said, isNext: next.includes(name) })),
    ...(from.edges.length === 0 && to.edges.length === 0 ? versionsOf(from, to) : []),
    ...lost.map((field) => `the field ${tick(field)} is gone, and its value would be lost`),
  ];
}

/**
 * The same for a run of an unknown program: only the nodes, and the joins that wait, must exist. A name that begins
 * with two underscores is not a user's node.
 */
export function missingNodes(to: ProgramShape, { done, next, waits = [] }: ProgramPosition): string[] {
  const isMissing = (name: string) => !name.startsWith("__") && !to.nodes.some((node) => node.name === name);
  const nowNext = new Set(next);
  return [
    ...[...nowNext].filter(isMissing).map((name) => `${tick(name)}, which is next, is not in this program`),
    ...[...new Set(done)]
      .filter((name) => isMissing(name) && !nowNext.has(name))
      .map((name) => `${tick(name)}, which has run, is not in this program`),
    ...waits
      .filter((wait) => !to.edges.some((edge) => edge.to === wait.to && edge.joins?.join("+") === wait.joins))
      .map((wait) => `${tick(wait.to)} waits for ${tick(wait.joins)}, which is no join of this program`),
  ];
}

/** Programs without edges can be compared only by their versions. */
function versionsOf(from: ProgramShape, to: ProgramShape): string[] {
  if (from.version === to.version) return [];
  const [one, other] = [from, to].map(({ version }) => (version === undefined ? "none" : quote(version)));
  return [`the version changed from ${one} to ${other}, and the program has no edges to compare`];
}

/** The place before the first node has edges, but may not be a node. */
const isPlace = (name: string, { nodes, edges }: ProgramShape): boolean =>
  !nodes.some((node) => node.name === name) && edges.some((edge) => edge.from === name);

const isKnown = (name: string, shape: ProgramShape): boolean =>
  shape.nodes.some((node) => node.name === name) || isPlace(name, shape);

const isGone = (name: string, from: ProgramShape, to: ProgramShape): boolean =>
  !isPlace(name, from) && !to.nodes.some((node) => node.name === name);

function changesOf(name: string, place: string, from: ProgramShape, to: ProgramShape): string[] {
  const [old, now] = [from, to].map(({ nodes }) => nodes.find((node) => node.name === name));
  if (old === undefined || now === undefined) return [];
  const change = (what: string, one: string | undefined, other: string | undefined) =>
    one === other
      ? []
      : [`the ${what} of ${tick(name)}, which ${place}, changed from ${one ?? "none"} to ${other ?? "none"}`];
  return [...change("effect class", old.effect, now.effect), ...change("kind", old.kind, now.kind)];
}

/**
 * The differences of the edges from a node that has run. `reached` are the nodes that have run or are next. `said` are
 * targets that other sentences already name.
 */
function edgeChanges(
  name: string,
  from: ProgramShape,
  to: ProgramShape,
  { reached, said, isNext }: { reached: Set<string>; said: Set<string>; isNext: boolean },
): string[] {
  const [old, now] = [edgesOf(name, from), edgesOf(name, to)];
  const node = `${tick(name)}, which ${isNext ? "may have" : "has"} run,`;
  const differences: string[] = [];
  for (const target of old.always) {
    if (now.always.has(target) || said.has(target)) continue;
    const how = now.chosen.has(target) ? "is now followed only sometimes by" : "is no longer followed by";
    differences.push(`${node} ${how} ${tick(target)}`);
  }
  for (const target of now.always) {
    if (old.always.has(target) || said.has(target)) continue;
    const how = old.chosen.has(target) ? "is now always followed by" : "is now followed by";
    differences.push(`${node} ${how} ${tick(target)}`);
  }
  for (const target of old.chosen) {
    if (!reached.has(target) || said.has(target) || now.chosen.has(target) || now.always.has(target)) continue;
    differences.push(`${node} no longer leads to ${tick(target)}`);
  }
  for (const [text, { to: target, joins }] of old.joins) {
    if (!now.joins.has(text)) differences.push(`${tick(target)} no longer waits for ${listOf(joins!.map(tick))}`);
  }
  for (const [text, { to: target, joins }] of now.joins) {
    if (!old.joins.has(text)) differences.push(`${tick(target)} now waits for ${listOf(joins!.map(tick))}`);
  }
  return differences;
}

function edgesOf(name: string, { edges }: ProgramShape) {
  const own = edges.filter(({ from }) => from === name);
  const plain = own.filter(({ joins }) => joins === undefined);
  const targets = (chosen: boolean) =>
    new Set(plain.filter(({ conditional = false }) => conditional === chosen).map(({ to }) => to));
  const joins = own.filter((edge) => edge.joins !== undefined);
  return { always: targets(false), chosen: targets(true), joins: new Map(joins.map((edge) => [textOf(edge), edge])) };
}

const tick = (name: string): string => "`" + name + "`";

/** Joins names for a message. Shortens a long list. */
function listOf(names: string[]): string {
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} others`] : names;
  return shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)!}`;
}
