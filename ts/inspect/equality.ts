/** Numbers forms. Two forms are equal if and only if they have the same number. */

import { type Pair, containerOf, entriesOf } from "../bridge/json-form/form.js";

/** A form to be numbered. Its kind and the numbers of its items determine its number. */
interface Task {
  form: object;
  kind: string;
  inside: readonly unknown[];
  /**
   * 0: the order of the items matters. 1: the order does not matter. 2: the items alternate between keys and values,
   * and the order of the pairs does not matter.
   */
  group: 0 | 1 | 2;
  numbers: number[];
}

function textOf({ numbers, group }: Task): string {
  if (group === 1) return numbers.toSorted((a, b) => a - b).join();
  if (group === 0 || isSorted(numbers)) return numbers.join();
  const pairs: Array<[key: number, value: number]> = [];
  for (let i = 0; i < numbers.length; i += 2) pairs.push([numbers[i]!, numbers[i + 1]!]);
  return pairs.toSorted((a, b) => a[0] - b[0]).join();
}

/**
 * Values of different types are never equal. The order of the keys of objects and Maps, and of the items of Sets, does
 * not matter. `-0` does not equal 0. Each form is visited once, so the time is linear in the size of all forms.
 */
export class Numbering {
  readonly #numbers = new Map<object, number>();
  /** The numbers by content: a primitive value, or a text of the form's kind and of its items' numbers. */
  readonly #known = new Map<unknown, number>();

  equal(a: unknown, b: unknown): boolean {
    return a === b ? !isZero(a) || Object.is(a, b) : this.of(a) === this.of(b);
  }

  /** Returns the number of a form. Uses no recursion, because a form may be deep. */
  of(root: unknown): number {
    const known = this.#atOnce(root);
    if (known !== undefined) return known;
    const tasks: Task[] = [taskOf(root as object)];
    for (let task = tasks.at(-1); task !== undefined; task = tasks.at(-1)) {
      const { inside, numbers } = task;
      while (numbers.length < inside.length) {
        const number = this.#atOnce(inside[numbers.length]);
        if (number === undefined) break;
        numbers.push(number);
      }
      if (numbers.length < inside.length) tasks.push(taskOf(inside[numbers.length] as object));
      else {
        this.#numbers.set(task.form, this.#number(task.kind + textOf(task)));
        tasks.pop();
      }
    }
    return this.#numbers.get(root as object)!;
  }

  #number(made: unknown): number {
    let number = this.#known.get(made);
    if (number === undefined) {
      number = this.#known.size;
      this.#known.set(made, number);
    }
    return number;
  }

  /** Returns the number of a primitive value or of an already numbered object. Undefined for other objects. */
  #atOnce(form: unknown): number | undefined {
    if (typeof form === "object" && form !== null) return this.#numbers.get(form);
    // The quote distinguishes a text from an object's key, which is also a text.
    if (typeof form === "string") return this.#number(`"${form}`);
    return this.#number(isZero(form) && Object.is(form, -0) ? "-0" : form);
  }
}

const isZero = (value: unknown): boolean => value === 0;

function begin(form: object, kind: string, inside: readonly unknown[], group: Task["group"]): Task {
  return { form, kind, inside, group, numbers: [] };
}

function taskOf(form: object): Task {
  const kind = containerOf(form);
  switch (kind) {
    case "List":
      return begin(form, "[", form as unknown[], 0);
    case "Object":
    case "Error":
      return begin(form, kind, flat(entriesOf(form as Record<string, unknown>)), 2);
    case "Map":
      return begin(form, kind, flat((form as { value: Pair[] }).value), 2);
    case "Set":
      return begin(form, kind, (form as { value: unknown[] }).value, 1);
    default:
      // Compares all other types by the keys and values of their JSON.
      return begin(form, "$", flat(Object.entries(form)), 2);
  }
}

function flat(pairs: readonly Pair[]): unknown[] {
  const items: unknown[] = [];
  for (const pair of pairs) items.push(pair[0], pair[1]);
  return items;
}

/** Returns true if pairs are sorted by the numbers of their keys, as in most objects. */
function isSorted(pairs: number[]): boolean {
  for (let i = 2; i < pairs.length; i += 2) if (pairs[i]! < pairs[i - 2]!) return false;
  return true;
}
