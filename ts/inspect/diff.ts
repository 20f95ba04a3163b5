/** The changes from one value to another, in the JSON form of values. */

import { type Aligned, align } from "./alignment.js";
import { Numbering } from "./equality.js";
import {
  type Container,
  type Pair,
  type Place,
  type Step,
  containerOf,
  entriesOf,
  stepsTo,
} from "../bridge/json-form/form.js";
import type { Change } from "./views.js";

/** A pair of values that differ and may have changes inside, or a change. */
type Task =
  | { op: "compare"; before: unknown; after: unknown; at: Place | null; to: Place | null }
  | { op: "add"; after: unknown; to: Place | null }
  | { op: "remove"; before: unknown; at: Place | null }
  | { op: "replace"; before: unknown; after: unknown; at: Place | null; to: Place | null };

/** Returns the kind of a form that is compared inside. A list with properties of its own is compared as a whole. */
function comparedKind(form: unknown): Container | null {
  const kind = containerOf(form);
  return kind === "Array" ? null : kind;
}

/**
 * Returns the changes of a part of a checkpoint, at most `limit`. Undefined stands for a part that is not there.
 *
 * Objects and Errors are compared by their keys, Maps by key, Sets by item, and lists as `align` does. What belongs together
 * and differs is compared inside if both are containers of one kind, and is else a `replace`. The path of a `remove` is the
 * place in the value before, that of an `add` and of a `replace` is the place in the value after.
 */
export function diffValues(
  part: Change["part"],
  before: unknown,
  after: unknown,
  limit: number,
): { changes: Change[]; truncated: boolean } {
  const changes: Change[] = [];
  const differ = new Differ();
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
  switch (task.op) {
    case "add":
      return { part, op: "add", path: stepsTo(task.to), after: task.after };
    case "remove":
      return { part, op: "remove", path: stepsTo(task.at), before: task.before };
    case "replace":
      return { part, op: "replace", path: stepsTo(task.to), before: task.before, after: task.after };
  }
}

/** An entry of an object or a Map: what it is shown as, its value, and the steps to each of them. */
interface Keyed {
  entry: unknown;
  entrySteps: Step[];
  value: unknown;
  valueSteps: Step[];
}

class Differ {
  readonly #numbering = new Numbering();

  equal(before: unknown, after: unknown): boolean {
    return this.#numbering.equal(before, after);
  }

  /** Returns what is to do for two values that differ. A missing one is undefined. */
  between(before: unknown, after: unknown, at: Place | null, to: Place | null): Task {
    if (before === undefined) return { op: "add", after, to };
    if (after === undefined) return { op: "remove", before, at };
    const kind = comparedKind(before);
    const op = kind !== null && kind === comparedKind(after) ? "compare" : "replace";
    return { op, before, after, at, to };
  }

  /** Returns what is to do for what is inside two values that differ, in order. */
  inside(before: unknown, after: unknown, at: Place | null, to: Place | null): Task[] {
    switch (containerOf(before)) {
      case "List":
        return this.#lists(before as unknown[], after as unknown[], at, to);
      case "Set":
        return this.#sets(before as SetForm, after as SetForm, at, to);
      case "Map":
        return this.#keyed(this.#pairs(before as MapForm), this.#pairs(after as MapForm), at, to);
      default:
        return this.#keyed(entries(before as object), entries(after as object), at, to);
    }
  }

  #lists(before: unknown[], after: unknown[], at: Place | null, to: Place | null): Task[] {
    const [numbers, numbersAfter] = [before, after].map((list) => list.map((item) => this.#numbering.of(item)));
    const [kinds, kindsAfter] = [before.map(comparedKind), after.map(comparedKind)];
    const tasks: Task[] = [];
    for (const [i, j] of align(numbers!, numbersAfter!, (left, right) => paired(left, right, kinds, kindsAfter))) {
      if (i !== null && j !== null && numbers![i] === numbersAfter![j]) continue;
      const [item, itemAfter] = [i === null ? undefined : before[i], j === null ? undefined : after[j]];
      tasks.push(this.between(item, itemAfter, { parent: at, step: i ?? 0 }, { parent: to, step: j ?? 0 }));
    }
    return tasks;
  }

  #sets({ value: before }: SetForm, { value: after }: SetForm, at: Place | null, to: Place | null): Task[] {
    return this.#keyed(this.#items(before), this.#items(after), at, to);
  }

  /** Returns the items of a Set by their value. */
  #items(items: readonly unknown[]): Map<string, Keyed> {
    return this.#named(items, (i) => ({ entry: items[i], entrySteps: [i], value: items[i], valueSteps: [i] }));
  }

  /** Returns the entries of a Map by their key. The steps to an entry whose key is no text are its place. */
  #pairs({ value: pairs }: MapForm): Map<string, Keyed> {
    const keys = pairs.map(([key]) => key);
    return this.#named(keys, (i) => {
      const [key, value] = pairs[i]!;
      return typeof key === "string"
        ? { entry: value, entrySteps: [key], value, valueSteps: [key] }
        : { entry: pairs[i], entrySteps: [i], value, valueSteps: [i, 1] };
    });
  }

  /**
   * Returns something for each form, by a name. Equal forms have equal names in two containers, but not in one: a Map or a
   * Set may have two objects that are equal.
   */
  #named(forms: readonly unknown[], make: (index: number) => Keyed): Map<string, Keyed> {
    const counts = new Map<number, number>();
    const named = new Map<string, Keyed>();
    for (const [i, form] of forms.entries()) {
      const number = this.#numbering.of(form);
      const count = counts.get(number) ?? 0;
      counts.set(number, count + 1);
      named.set(`${number}/${count}`, make(i));
    }
    return named;
  }

  #keyed(before: Map<string, Keyed>, after: Map<string, Keyed>, at: Place | null, to: Place | null): Task[] {
    const tasks: Task[] = [];
    for (const [key, old] of before) {
      const now = after.get(key);
      if (now === undefined) tasks.push({ op: "remove", before: old.entry, at: placeOf(at, old.entrySteps) });
      else if (!this.equal(old.value, now.value)) {
        const [from, place] = [placeOf(at, old.valueSteps), placeOf(to, now.valueSteps)];
        tasks.push(this.between(old.value, now.value, from, place));
      }
    }
    for (const [key, now] of after) {
      if (!before.has(key)) tasks.push({ op: "add", after: now.entry, to: placeOf(to, now.entrySteps) });
    }
    return tasks;
  }
}

interface MapForm {
  value: Pair[];
}

interface SetForm {
  value: unknown[];
}

function entries(form: object): Map<string, Keyed> {
  return new Map(
    entriesOf(form as Record<string, unknown>).map(([key, value]) => {
      return [key, { entry: value, entrySteps: [key], value, valueSteps: [key] }];
    }),
  );
}

function placeOf(parent: Place | null, steps: readonly Step[]): Place | null {
  return steps.reduce<Place | null>((place, step) => ({ parent: place, step }), parent);
}

/**
 * Aligns items of which none is equal to another: in order, those that are containers of one kind. Those between two such
 * pairs are aligned by their place.
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
