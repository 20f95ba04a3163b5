/** The changes from one value to another, in the JSON form of values. */

import { type Aligned, align, byIndex } from "./alignment.js";
import { Numbering } from "./equality.js";
import {
  type Container,
  type Item,
  type Place,
  containerOf,
  itemsOf,
  placeOf,
  stepsTo,
} from "../bridge/json-form/form.js";
import { alignIds, identityIn } from "./identity.js";
import type { Change } from "../plugin/views.js";

/** A change, or a pair of different containers to compare. */
type Task =
  | { op: "compare"; before: unknown; after: unknown; at: Place | null; to: Place | null }
  | { op: "add"; after: unknown; to: Place | null }
  | { op: "remove"; before: unknown; at: Place | null }
  | { op: "replace"; before: unknown; after: unknown; at: Place | null; to: Place | null };

/**
 * Returns the kind of a container whose items are compared one by one. Returns null for any other form. A list with its
 * own properties is compared as a whole.
 */
function comparedKind(form: unknown): Container | null {
  const kind = containerOf(form);
  return kind === "Array" ? null : kind;
}

/**
 * Returns the changes of a part of a checkpoint, at most `limit`. Undefined: the part is missing.
 *
 * Objects and Errors are compared by key, Maps by key, Sets by item, and lists with `align`. Different list items with
 * the same id, such as messages, are compared with each other. If two corresponding values are different containers of
 * one kind, their items are compared. Other differences are a `replace`. The path of a `remove` leads through the old
 * value, that of an `add` or a `replace` through the new value.
 */
export function diffValues(
  part: Change["part"],
  before: unknown,
  after: unknown,
  limit: number,
): { changes: Change[]; truncated: boolean } {
  const changes: Change[] = [];
  const differ = new Differ(part);
  const tasks: Task[] = differ.equal(before, after) ? [] : [differ.between(before, after, null, null)];
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    if (task.op === "compare") {
      for (const each of differ.inside(task.before, task.after, task.at, task.to).toReversed()) tasks.push(each);
    } else if (changes.length === limit) return { changes, truncated: true };
    else changes.push(changeOf(part, task));
  }
  return { changes, truncated: false };
}

function changeOf(part: Change["part"], task: Exclude<Task, { op: "compare" }>): Change {
  const path = stepsTo(task.op === "remove" ? task.at : task.to);
  const before = task.op === "add" ? {} : { before: task.before };
  const after = task.op === "remove" ? {} : { after: task.after };
  return { part, op: task.op, path, ...before, ...after };
}

class Differ {
  readonly #numbering = new Numbering();
  readonly #part: Change["part"];

  constructor(part: Change["part"]) {
    this.#part = part;
  }

  equal(before: unknown, after: unknown): boolean {
    return this.#numbering.equal(before, after);
  }

  /** Returns the task for two different values. Undefined: the value is missing. */
  between(before: unknown, after: unknown, at: Place | null, to: Place | null): Task {
    if (before === undefined) return { op: "add", after, to };
    if (after === undefined) return { op: "remove", before, at };
    const kind = comparedKind(before);
    const op = kind !== null && kind === comparedKind(after) ? "compare" : "replace";
    return { op, before, after, at, to };
  }

  /** Returns the tasks for the items of two different containers, in order. */
  inside(before: unknown, after: unknown, at: Place | null, to: Place | null): Task[] {
    return Array.isArray(before)
      ? this.#lists(before, after as unknown[], at, to)
      : this.#keyed(before as object, after as object, at, to);
  }

  #lists(before: unknown[], after: unknown[], at: Place | null, to: Place | null): Task[] {
    const [numbers, numbersAfter] = [before, after].map((list) => list.map((item) => this.#numbering.of(item)));
    const [kinds, kindsAfter] = [before.map(comparedKind), after.map(comparedKind)];
    const isWrites = this.#part === "writes" && to === null;
    const identity = identityIn(this.#part, to === null);
    const ids = [(i: number) => identity(before[i]), (j: number) => identity(after[j])] as const;
    // Writes of different tasks are never compared with each other.
    const rest = isWrites ? apart : (left: number[], right: number[]) => paired(left, right, kinds, kindsAfter);
    const tasks: Task[] = [];
    const pairs = align(
      numbers!,
      numbersAfter!,
      (left, right) => alignIds(left, right, ids, rest),
      (left, right) => alignIds(left, right, ids, byIndex),
    );
    for (const [i, j] of pairs) {
      if (i !== null && j !== null && numbers![i] === numbersAfter![j]) continue;
      const [item, itemAfter] = [i === null ? undefined : before[i], j === null ? undefined : after[j]];
      tasks.push(this.between(item, itemAfter, { parent: at, step: i ?? 0 }, { parent: to, step: j ?? 0 }));
    }
    return tasks;
  }

  /** Matches the items of objects, Errors and Maps by key, and the items of Sets by value. */
  #keyed(before: object, after: object, at: Place | null, to: Place | null): Task[] {
    const tasks: Task[] = [];
    const [items, itemsAfter] = [this.#named(before), this.#named(after)];
    for (const [name, old] of items) {
      const now = itemsAfter.get(name);
      if (now === undefined)
        tasks.push({ op: "remove", before: entryOf(old, before), at: { parent: at, step: old.step } });
      else if (!this.equal(old.value, now.value)) {
        tasks.push(this.between(old.value, now.value, placeOf(old.steps, at), placeOf(now.steps, to)));
      }
    }
    for (const [name, now] of itemsAfter) {
      if (!items.has(name)) tasks.push({ op: "add", after: entryOf(now, after), to: { parent: to, step: now.step } });
    }
    return tasks;
  }

  /**
   * Returns the items of a container by unique names. Matching items of two containers have the same name. A Map or a
   * Set may contain equal objects, so a name also has a repetition count.
   */
  #named(form: object): Map<string, Item> {
    const counts = new Map<number, number>();
    const named = new Map<string, Item>();
    for (const item of itemsOf(form, containerOf(form)!)) {
      if (item.name !== null) named.set(`"${item.name}`, item);
      else {
        const number = this.#numbering.of(item.key === undefined ? item.value : item.key);
        const count = counts.get(number) ?? 0;
        counts.set(number, count + 1);
        named.set(`${number}/${count}`, item);
      }
    }
    return named;
  }
}

/**
 * Returns the value that a change shows for an item. This is the item's value, or the entire entry of a Map if its key
 * is not a text.
 */
function entryOf({ key, value, step }: Item, form: object): unknown {
  return key === undefined ? value : (form as { value: unknown[] }).value[step as number];
}

/** Aligns no item. */
function apart(before: number[], after: number[]): Aligned[] {
  return [...before.map((i): Aligned => [i, null]), ...after.map((j): Aligned => [null, j])];
}

/**
 * Aligns items without an equal item in the other list. Pairs containers of one kind, in order. Aligns the items
 * between two pairs by index.
 */
function paired(
  before: number[],
  after: number[],
  kinds: ReadonlyArray<Container | null>,
  kindsAfter: ReadonlyArray<Container | null>,
): Aligned[] {
  const aligned: Aligned[] = [];
  let [i, j] = [0, 0];
  const byPlace = (to: number, toAfter: number) => {
    for (; i < to || j < toAfter; i++, j++) {
      aligned.push([i < to ? before[i]! : null, j < toAfter ? after[j]! : null]);
    }
  };
  for (const [next, place] of before.entries()) {
    const kind = kinds[place];
    const partner = kind === null ? -1 : after.findIndex((each, at) => at >= j && kindsAfter[each] === kind);
    if (partner < 0) continue;
    byPlace(next, partner);
    aligned.push([place, after[partner]!]);
    [i, j] = [next + 1, partner + 1];
  }
  byPlace(before.length, after.length);
  return aligned;
}
