/** Reads fields of values in the JSON form. Follows references. Never throws. */

import { containerOf, itemsOf, typeOf } from "../../bridge/json-form/form.js";
import { Walker } from "../../bridge/json-form/path.js";

export class Reader {
  readonly #walker: Walker;

  constructor(root: unknown) {
    this.#walker = new Walker(root);
  }

  /** Returns a value, following references. Undefined: there is none. */
  follow(form: unknown): unknown {
    const found = this.#walker.followed(form);
    const type = typeOf(found);
    return found === null || type === "Undefined" || type === "Hole" ? undefined : found;
  }

  /** Returns the value of the first key that has one. */
  get(form: unknown, ...keys: string[]): unknown {
    const of = this.follow(form);
    for (const key of keys) {
      const value = this.follow(this.#walker.inside(of, key));
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Like {@link get}, for a non-empty text. */
  text(form: unknown, ...keys: string[]): string | null {
    for (const key of keys) {
      const value = this.get(form, key);
      if (typeof value === "string" && value !== "") return value;
    }
    return null;
  }

  /** Like {@link get}, for a count. */
  count(form: unknown, ...keys: string[]): number | null {
    for (const key of keys) {
      const value = this.get(form, key);
      if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
    }
    return null;
  }

  /** Like {@link get}, for a list. Returns an empty list if there is none. */
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

  /** Returns the values with text keys. */
  entries(form: unknown): Array<[key: string, value: unknown]> {
    const of = this.follow(form);
    const kind = containerOf(of);
    if (kind !== "Object" && kind !== "Map") return [];
    return [...itemsOf(of as object, kind)].flatMap(({ name, value }) => (name === null ? [] : [[name, value]]));
  }
}
