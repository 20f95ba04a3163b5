/** Numbers forms, so that two forms are equal if and only if they have the same number. */

import { type Pair, containerOf, entriesOf } from "./form.js";

/** What a number is made of: a kind, and the numbers of what is inside. */
interface Parts {
  kind: string;
  inside: readonly unknown[];
  /** The length of the groups whose order does not matter: 2 for keys with their values. 0: order matters. */
  group: 0 | 1 | 2;
}

interface Task extends Parts {
  form: object;
  next: number;
  numbers: number[];
}

/**
 * Equal are values of one type. The order of the keys of objects and Maps and of the items of Sets does not matter. `-0` is
 * not 0. Each form is looked at once, so comparing takes a time that is linear in the size of all forms.
 */
export class Numbering {
  readonly #numbers = new Map<object, number>();
  /** By the text of what a form is made of. */
  readonly #known = new Map<unknown, number>();

  equal(a: unknown, b: unknown): boolean {
    return a === b ? !isZero(a) || Object.is(a, b) : this.of(a) === this.of(b);
  }

  /** Returns the number of a form. Works without the stack, because a form may be deep. */
  of(root: unknown): number {
    const known = this.#atOnce(root);
    if (known !== undefined) return known;
    const tasks: Task[] = [taskOf(root as object)];
    for (let task = tasks.at(-1); task !== undefined; task = tasks.at(-1)) {
      const { inside, numbers } = task;
      let deeper: object | undefined;
      while (task.next < inside.length) {
        const form = inside[task.next];
        const number = this.#atOnce(form);
        if (number === undefined) {
          deeper = form as object;
          break;
        }
        numbers.push(number);
        task.next += 1;
      }
      if (deeper !== undefined) tasks.push(taskOf(deeper));
      else {
        this.#numbers.set(task.form, this.#number(`${task.kind}${textOf(numbers, task.group)}`));
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

  /** Returns the number of a form that has none inside, or that has a number already. */
  #atOnce(form: unknown): number | undefined {
    if (typeof form === "object" && form !== null) return this.#numbers.get(form);
    // A text is told from the text of what a form is made of, and from a number.
    if (typeof form === "string") return this.#number(`"${form}`);
    return this.#number(isZero(form) && Object.is(form, -0) ? "-0" : form);
  }
}

const isZero = (value: unknown): boolean => value === 0;

function taskOf(form: object): Task {
  return { ...partsOf(form), form, next: 0, numbers: [] };
}

function partsOf(form: object): Parts {
  const kind = containerOf(form);
  switch (kind) {
    case "List":
      return { kind: "[", inside: form as unknown[], group: 0 };
    case "Object":
      return { kind: "{", inside: entriesOf(form as Record<string, unknown>).flat(), group: 2 };
    case "Error":
      return { kind, inside: entriesOf(form as Record<string, unknown>).flat(), group: 2 };
    case "Map":
      return { kind, inside: (form as { value: Pair[] }).value.flat(), group: 2 };
    case "Set":
      return { kind, inside: (form as { value: unknown[] }).value, group: 1 };
    default:
      // All other types are compared as the JSON that they are.
      return { kind: "$", inside: Object.entries(form).flat(), group: 2 };
  }
}

function textOf(numbers: number[], group: Parts["group"]): string {
  if (group === 1) return numbers.toSorted((a, b) => a - b).join();
  if (group === 0 || isSorted(numbers)) return numbers.join();
  const pairs: Array<[key: number, value: number]> = [];
  for (let i = 0; i < numbers.length; i += 2) pairs.push([numbers[i]!, numbers[i + 1]!]);
  return pairs.toSorted((a, b) => a[0] - b[0]).join();
}

/** Returns true if the keys of pairs are sorted by their numbers, as those of most objects are. */
function isSorted(pairs: number[]): boolean {
  for (let i = 2; i < pairs.length; i += 2) if (pairs[i]! < pairs[i - 2]!) return false;
  return true;
}
