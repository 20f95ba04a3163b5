// The rows of a tree of values, which are in the JSON form that `ts/inspect/form.ts` describes.
import { type ArrayForm, type Pair, containerOf, entriesOf, typeOf } from "../../inspect/form.js";
import { formatPath } from "../../inspect/path.js";

export type Step = string | number;

/** What an answer leaves out: a value, or the end of a container. */
export interface More {
  path: Step[];
  count: number;
  /** The size of what is left out, as JSON text. */
  bytes?: number;
}

export function moreOf(form: unknown): More | null {
  return typeOf(form) === "More" ? (form as More) : null;
}

/** A value in a container. */
interface Entry {
  step: Step;
  /** The key of a Map that is no text, in its form. */
  key?: unknown;
  value: unknown;
}

/** What a container shows: its entries, and how many are left out behind them. */
export interface Inside {
  entries: Entry[];
  more: More | null;
}

/** Lists what is in a container. Null: the value is none. */
export function insideOf(form: unknown): Inside | null {
  const kind = containerOf(form);
  if (kind === null) return null;
  if (kind === "List") return items(form as unknown[]);
  const typed = form as Record<string, unknown>;
  switch (kind) {
    case "Set":
      return items(typed["value"] as unknown[]);
    case "Map":
      return pairs(typed["value"] as Pair[]);
    case "Array": {
      const { value, properties } = form as unknown as ArrayForm;
      const listed = items(value);
      const named = properties.map(([step, each]) => ({ step: /^\d+$/.test(step) ? Number(step) : step, value: each }));
      return { entries: [...listed.entries, ...named], more: listed.more };
    }
    default: {
      const entries: Entry[] = entriesOf(typed).map(([step, value]) => ({ step, value }));
      return withoutMore(entries);
    }
  }
}

const items = (list: readonly unknown[]): Inside => withoutMore(list.map((value, step) => ({ step, value })));

const pairs = (list: readonly Pair[]): Inside =>
  withoutMore(
    list.map(([key, value], index) => (typeof key === "string" ? { step: key, value } : { step: index, key, value })),
  );

/** Takes the mark of what is left out from the end of the entries. */
function withoutMore(entries: Entry[]): Inside {
  const last = entries.at(-1);
  const more = last === undefined ? null : moreOf(last.value);
  const isEnd = more !== null && last!.step === MORE;
  return isEnd ? { entries: entries.slice(0, -1), more } : { entries, more: null };
}

/** The key under which an object says what is left out. */
const MORE = "$more";

/** The size of a value as JSON text, with what is left out. */
export function sizeOf(form: unknown): number {
  if (typeof form === "string") return form.length + 2;
  if (typeof form !== "object" || form === null) return String(form).length;
  const known = sizes.get(form);
  if (known !== undefined) return known;
  let size = moreOf(form)?.bytes ?? 2;
  if (typeOf(form) !== "More") {
    if (Array.isArray(form)) for (const each of form) size += sizeOf(each) + 1;
    else for (const [key, each] of Object.entries(form)) size += key.length + sizeOf(each) + 4;
  }
  sizes.set(form, size);
  return size;
}

const sizes = new WeakMap<object, number>();

/** A row of the tree. */
export interface TreeRow {
  /** The path as text: it names the row. */
  id: string;
  path: Step[];
  depth: number;
  step: Step;
  /** The key of a Map that is no text. */
  key?: unknown;
  value: unknown;
  /** Whether there is something inside, and whether it is shown. */
  state: "leaf" | "closed" | "open";
  /** The place among its siblings, from 1, and their number. */
  at: number;
  of: number;
  /** The size of its JSON text. */
  size: number;
  /** Its part of the size of what contains it, from 0 to 1. */
  share: number;
  /** Set for the row that asks for the entries which are left out. */
  more?: More & { shown: number };
}

/** A container that was loaded after the rest, or further than the rest. */
export interface Loaded {
  form: unknown;
  inside: Inside;
}

/** What was loaded later, by path, and what is open. */
export interface TreeView {
  loaded: ReadonlyMap<string, Loaded>;
  open: ReadonlySet<string>;
}

/** Returns the rows of a tree. The root itself is no row. */
export function rowsOf(root: unknown, { loaded, open }: TreeView): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (id: string, form: unknown, path: Step[]): void => {
    const inside = loaded.get(id)?.inside ?? insideOf(form);
    if (inside === null) return;
    const { entries, more } = inside;
    const of = entries.length + (more === null ? 0 : 1);
    const whole = Math.max(1, sizeOf(form));
    for (const [index, entry] of entries.entries()) {
      const own = [...path, entry.step];
      const row: TreeRow = {
        id: formatPath(own),
        path: own,
        depth: own.length,
        step: entry.step,
        value: entry.value,
        state: "leaf",
        at: index + 1,
        of,
        size: sizeOf(entry.value),
        share: sizeOf(entry.value) / whole,
      };
      if ("key" in entry) row.key = entry.key;
      row.value = loaded.get(row.id)?.form ?? entry.value;
      if (hasInside(row.value)) row.state = open.has(row.id) ? "open" : "closed";
      rows.push(row);
      if (row.state === "open") add(row.id, row.value, own);
    }
    if (more === null) return;
    const shown = entries.length;
    const row = { id: `${id}…`, path, depth: path.length + 1, step: "…", value: null, state: "leaf" } as const;
    rows.push({ ...row, at: of, of, size: more.bytes ?? 0, share: 0, more: { ...more, shown } });
  };
  add("", root, []);
  return rows;
}

/** Appends a later part of a container to what is shown of it. */
export function joined(shown: Loaded, part: unknown): Loaded {
  const next = insideOf(part)?.entries ?? [];
  const from = shown.inside.entries.length;
  const isNumbered = ["List", "Set", "Array"].includes(containerOf(shown.form) ?? "");
  const shifted = isNumbered ? next.map((entry) => ({ ...entry, step: Number(entry.step) + from })) : next;
  const left = (shown.inside.more?.count ?? 0) - next.length;
  const more = left > 0 && next.length > 0 ? { path: shown.inside.more!.path, count: left } : null;
  return { form: shown.form, inside: { entries: [...shown.inside.entries, ...shifted], more } };
}

/** Returns true if something is in a value: it can be opened. */
export function hasInside(form: unknown): boolean {
  if (moreOf(form) !== null) return true;
  const inside = insideOf(form);
  return inside !== null && (inside.entries.length > 0 || inside.more !== null);
}

/** Returns what is open at first: the upper levels, as long as they stay short. */
export function firstOpen(root: unknown, most: number): Set<string> {
  const open = new Set<string>();
  let level: Array<{ form: unknown; path: Step[] }> = [{ form: root, path: [] }];
  let rows = insideOf(root)?.entries.length ?? 0;
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { form, path } of level) {
      for (const { step, value } of insideOf(form)?.entries ?? []) {
        const size = insideOf(value)?.entries.length ?? 0;
        if (size === 0 || rows + size > most) continue;
        rows += size;
        const own = [...path, step];
        open.add(formatPath(own));
        next.push({ form: value, path: own });
      }
    }
    level = next;
  }
  return open;
}

/** Returns the tree that leads to what a search has found, as rows that are all open. */
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
