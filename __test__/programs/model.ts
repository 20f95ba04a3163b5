// A small interpreter of programs: a run is a set of nodes that run next, and the joins that wait. Random programs and random
// runs of them show what `compareShapes` promises: a run of the old program could have come to the same place on the new one.
import type { ProgramEdge, ProgramShape } from "../../ts/store/compare-programs.js";

export const START = "start";

export type Random = () => number;

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

const EFFECTS = ["read", "write", undefined] as const;
const NAMES = ["a", "b", "c", "d", "e", "f", "g"] as const;

export function randomProgram(random: Random): ProgramShape {
  const names = NAMES.slice(0, 2 + Math.floor(random() * 4));
  const nodes = names.map((name) => ({ name, effect: pick(random, EFFECTS) }));
  const edges: ProgramEdge[] = [{ from: START, to: pick(random, names) }];
  for (const name of names) addEdges(random, edges, name, names);
  return { nodes, edges, fields: ["x", "y"].slice(Math.floor(random() * 3)) };
}

function addEdges(random: Random, edges: ProgramEdge[], from: string, names: readonly string[]): void {
  const conditional = random() < 0.4 ? ({ conditional: true } as const) : {};
  const count = Math.floor(random() * 3);
  for (let at = 0; at < count; at++) {
    const to = pick(random, names);
    if (!edges.some((edge) => edge.from === from && edge.to === to)) edges.push({ from, to, ...conditional });
  }
  if (random() < 0.2 && names.length > 2) {
    const joins = [from, pick(random, names)];
    const to = pick(random, names);
    if (joins[0] !== joins[1]) for (const member of joins) edges.push({ from: member, to, joins });
  }
}

/** Makes one to three random changes. */
export function changed(random: Random, shape: ProgramShape): ProgramShape {
  const next = structuredClone(shape);
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--) {
    const names = next.nodes.map(({ name }) => name);
    const name = pick(random, names);
    const fresh = NAMES.find((each) => !names.includes(each));
    switch (Math.floor(random() * 8)) {
      case 0:
        next.edges = next.edges.filter(({ from }) => from !== name);
        addEdges(random, next.edges, name, names);
        break;
      case 1:
        next.edges.push({ from: name, to: pick(random, names), conditional: true });
        break;
      case 2:
        next.edges.splice(Math.floor(random() * next.edges.length), 1);
        break;
      case 3:
        if (names.length < 2) break;
        next.nodes = next.nodes.filter((node) => node.name !== name);
        next.edges = next.edges.filter((edge) => ![edge.from, edge.to, ...(edge.joins ?? [])].includes(name));
        break;
      case 4:
        next.nodes.find((node) => node.name === name)!.effect = pick(random, EFFECTS);
        break;
      case 5: {
        if (fresh === undefined) break;
        // A new node between two others.
        next.nodes.push({ name: fresh });
        const edge = next.edges.find(({ from, joins }) => from === name && joins === undefined);
        next.edges.push({ from: fresh, to: edge?.to ?? name });
        if (edge !== undefined) edge.to = fresh;
        break;
      }
      case 6:
        next.fields = ["x", "y", "z"].slice(Math.floor(random() * 3));
        break;
      default:
        next.version = String(Math.floor(random() * 3));
    }
  }
  return next;
}

/** A step: the node that ran, and the targets that it chose. */
export interface Step {
  node: string;
  chose: string[];
}

/** A run of a program. */
export class Run {
  readonly shape: ProgramShape;
  readonly done = new Set<string>([START]);
  readonly next: Set<string>;
  /** The members of each join that have arrived. */
  readonly waiting = new Map<string, Set<string>>();

  constructor(shape: ProgramShape) {
    this.shape = shape;
    this.next = new Set(shape.edges.filter(({ from }) => from === START).map(({ to }) => to));
  }

  /** The targets between which a node chooses. */
  choices(node: string): string[] {
    return this.shape.edges.filter(({ from, conditional }) => from === node && conditional).map(({ to }) => to);
  }

  /** Runs a node that is next. Throws if the program has no such step. */
  step({ node, chose }: Step): void {
    if (!this.next.delete(node)) throw new Error(`${node} is not next`);
    if (!this.shape.nodes.some(({ name }) => name === node)) throw new Error(`${node} is not there`);
    const choices = this.choices(node);
    const wrong = chose.find((target) => !choices.includes(target));
    if (wrong !== undefined) throw new Error(`${node} cannot choose ${wrong}`);
    this.done.add(node);
    for (const { from, to, conditional, joins } of this.shape.edges) {
      if (from !== node || conditional) continue;
      if (joins === undefined) this.next.add(to);
      else this.#arrive(node, to, joins);
    }
    for (const target of chose) this.next.add(target);
  }

  #arrive(node: string, to: string, joins: string[]): void {
    const key = JSON.stringify([joins, to]);
    const arrived = (this.waiting.get(key) ?? new Set()).add(node);
    this.waiting.set(key, arrived);
    if (arrived.size < joins.length) return;
    this.waiting.delete(key);
    this.next.add(to);
  }

  /** Takes a random step. Returns it, or undefined at the end. */
  randomStep(random: Random): Step | undefined {
    if (this.next.size === 0) return undefined;
    const node = pick(random, [...this.next]);
    const step = { node, chose: [...new Set(this.choices(node))].filter(() => random() < 0.6) };
    this.step(step);
    return step;
  }

  get place(): { next: string[]; waiting: string[] } {
    const waiting = [...this.waiting].map(([key, arrived]) => JSON.stringify([key, [...arrived].toSorted()]));
    return { next: [...this.next].toSorted(), waiting: waiting.toSorted() };
  }
}
