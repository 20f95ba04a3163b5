// The rows of a tree of values in the JSON form: see `ts/bridge/json-form/form.ts`.
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { type Inside, type Item, type More, type Step, insideOf, moreOf, sizeOf } from "../forms.js";

export interface TreeRow {
  /** The path as text. */
  id: string;
  path: Step[];
  depth: number;
  step: Step;
  /** A Map's key that is not a text. */
  key?: unknown;
  value: unknown;
  /** `"leaf"`: no entries. `"closed"` and `"open"`: whether the entries are shown. */
  state: "leaf" | "closed" | "open";
  /** The position among its siblings, from 1, and their number. */
  at: number;
  of: number;
  /** The size of its JSON text. */
  size: number;
  /** Its share of the parent's size, from 0 to 1. */
  share: number;
  /** Set for the row that loads more entries. */
  more?: More & { shown: number };
}

/** A container that was loaded after the state, or with more entries than the state has. */
export interface Loaded {
  form: unknown;
  inside: Inside;
}

/** The later loaded containers, by path, and the open rows. */
export interface TreeView {
  loaded: ReadonlyMap<string, Loaded>;
  open: ReadonlySet<string>;
}

/** Returns the rows of a tree, without its root. */
export function rowsOf(root: unknown, { loaded, open }: TreeView): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (id: string, form: unknown, path: Step[], depth: number): void => {
    const inside = loaded.get(id)?.inside ?? insideOf(form, path.length);
    if (inside === null) return;
    const { entries, rest } = inside;
    const of = entries.length + (rest === null ? 0 : 1);
    const sizes = entries.map(({ value }) => sizeOf(value));
    const whole = Math.max(
      1,
      sizes.reduce((sum, size) => sum + size, rest?.bytes ?? 0),
    );
    for (const [index, entry] of entries.entries()) {
      const own = [...path, ...entry.steps];
      const id = formatPath(own);
      const value = loaded.get(id)?.form ?? entry.value;
      const row: TreeRow = {
        id,
        path: own,
        depth,
        step: entry.step,
        value,
        state: hasInside(value, own.length) ? (open.has(id) ? "open" : "closed") : "leaf",
        at: index + 1,
        of,
        size: sizes[index]!,
        share: sizes[index]! / whole,
      };
      if ("key" in entry) row.key = entry.key;
      rows.push(row);
      if (row.state === "open") add(id, value, own, depth + 1);
    }
    if (rest === null) return;
    const row = { id: `${id}…`, path, depth, step: "…", value: null, state: "leaf", share: 0 } as const;
    rows.push({ ...row, at: of, of, size: rest.bytes ?? 0, more: { ...rest, shown: entries.length } });
  };
  add("", root, [], 1);
  return rows;
}

/** Returns true for a value without entries, such as a long text. */
const isLeaf = (more: More): boolean => !["List", "Object", "Map", "Set", "Error", "Array"].includes(more.of);

/** Returns true if a value has entries, so that its row can be opened. */
export function hasInside(form: unknown, depth: number): boolean {
  const more = moreOf(form);
  if (more !== null) return !isLeaf(more);
  const inside = insideOf(form, depth);
  return inside !== null && (inside.entries.length > 0 || inside.rest !== null);
}

/** Appends a later part of a container to its loaded entries. */
export function joined(shown: Loaded, part: unknown): Loaded {
  const { kind, entries, rest } = shown.inside;
  const depth = rest?.path.length ?? 0;
  const next = insideOf(part, depth)?.entries ?? [];
  const isNumbered = kind === "List" || kind === "Set" || kind === "Array";
  const shifted = next.map((entry): Item => {
    if (!isNumbered && !("key" in entry)) return entry;
    const step = Number(entry.step) + entries.length;
    return { ...entry, step, steps: [step, ...entry.steps.slice(1)] };
  });
  const left = (rest?.count ?? 0) - next.length;
  const bytes = Math.max(0, (rest?.bytes ?? 0) - next.reduce((sum, { value }) => sum + sizeOf(value), 0));
  const after = rest !== null && left > 0 && next.length > 0 ? { ...rest, count: left, bytes } : null;
  return { form: shown.form, inside: { kind, entries: [...entries, ...shifted], rest: after } };
}

/** Returns the rows to open by default: the upper levels, up to `most` rows. */
export function firstOpen(root: unknown, most: number): Set<string> {
  const open = new Set<string>();
  let level: Array<{ form: unknown; path: Step[] }> = [{ form: root, path: [] }];
  let rows = insideOf(root, 0)?.entries.length ?? 0;
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { form, path } of level) {
      for (const { steps, value } of insideOf(form, path.length)?.entries ?? []) {
        const own = [...path, ...steps];
        const size = insideOf(value, own.length)?.entries.length ?? 0;
        if (size === 0 || rows + size > most) continue;
        rows += size;
        open.add(formatPath(own));
        next.push({ form: value, path: own });
      }
    }
    level = next;
  }
  return open;
}

/** Returns the rows of the tree with the matches of a search. All rows are open. */
export function foundRows(matches: ReadonlyArray<{ path: Step[]; value: unknown }>): TreeRow[] {
  interface Node {
    step: Step;
    value: unknown;
    children: Map<Step, Node>;
  }
  const root: Node = { step: "", value: undefined, children: new Map() };
  for (const { path, value } of matches) {
    let at = root;
    for (const step of path) {
      let next = at.children.get(step);
      if (next === undefined) {
        next = { step, value: undefined, children: new Map() };
        at.children.set(step, next);
      }
      at = next;
    }
    at.value = value;
  }
  const rows: TreeRow[] = [];
  const add = (node: Node, path: Step[]): void => {
    let at = 0;
    for (const child of node.children.values()) {
      at += 1;
      const own = [...path, child.step];
      rows.push({
        id: formatPath(own),
        path: own,
        depth: own.length,
        step: child.step,
        value: child.value,
        state: child.children.size > 0 ? "open" : "leaf",
        at,
        of: node.children.size,
        size: 0,
        share: 0,
      });
      add(child, own);
    }
  };
  add(root, []);
  return rows;
}
