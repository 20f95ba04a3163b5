/** Reads fields of values in the JSON form. Follows references, and never throws, whatever is stored. */

import { containerOf, itemsOf, typeOf } from "../../bridge/json-form/form.js";
import { Walker } from "../../bridge/json-form/path.js";

export class Reader {
  readonly #walker: Walker;

  constructor(root: unknown) {
    this.#walker = new Walker(root);
  }

  /** Returns a value without a reference. Undefined: there is none. */
  follow(form: unknown): unknown {
    const found = this.#walker.followed(form);
    const type = typeOf(found);
    return found === null || type === "Undefined" || type === "Hole" ? undefined : found;
  }

  /** Returns the value of the first of some keys that has one. */
  get(form: unknown, ...keys: string[]): unknown {
    const of = this.follow(form);
    for (const key of keys) {
      const value = this.follow(this.#walker.inside(of, key));
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** As {@link get}, for a text that is not empty. */
  text(form: unknown, ...keys: string[]): string | null {
    for (const key of keys) {
      const value = this.get(form, key);
      if (typeof value === "string" && value !== "") return value;
    }
    return null;
  }

  /** As {@link get}, for a number that counts something. */
  count(form: unknown, ...keys: string[]): number | null {
    for (const key of keys) {
      const value = this.get(form, key);
      if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
    }
    return null;
  }

  /** As {@link get}, for a list. Empty if there is none. */
  list(form: unknown, ...keys: string[]): unknown[] {
    for (const key of keys) {
      const value = this.get(form, key);
      if (Array.isArray(value)) return value;
    }
    return [];
  }

  isRecord(form: unknown): boolean {
    const kind = containerOf(this.follow(form));
    return kind === "Object" || kind === "Map";
  }

  /** Returns the values with a text as their key. */
  entries(form: unknown): Array<[key: string, value: unknown]> {
    const of = this.follow(form);
    const kind = containerOf(of);
    if (kind !== "Object" && kind !== "Map") return [];
    return [...itemsOf(of as object, kind)].flatMap(({ name, value }) => (name === null ? [] : [[name, value]]));
  }
}
