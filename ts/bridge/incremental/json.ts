/**
 * Assembles the text that `JSON.stringify` would write. Growing lists reuse their kept bytes (`lists.ts`).
 * `JSON.stringify` writes all other values.
 */

import { type Bytes, joined } from "../bytes.js";
import type { Grown } from "./block.js";
import { GrowingLists, type ItemFormat } from "./lists.js";
import { dataProperty, hasToJson } from "./leaves.js";

const COMMA = Buffer.from(",");

export class JsonWriter {
  readonly #lists: GrowingLists;
  readonly #mayStringify: (value: unknown) => boolean;
  readonly #plainOf: ItemFormat["plainOf"];

  /** `mayStringify` returns true for a value outside the lists that `JSON.stringify` may write. */
  constructor(
    items: Omit<ItemFormat, "between" | "keepsIdentity" | "keepsHoles">,
    mayStringify: (value: unknown) => boolean = () => true,
  ) {
    this.#lists = new GrowingLists({ ...items, between: COMMA, keepsIdentity: false, keepsHoles: false });
    this.#mayStringify = mayStringify;
    this.#plainOf = items.plainOf;
  }

  /** Returns the bytes of a value. Returns undefined if it must be serialized in full. */
  serialize(value: unknown): Bytes | undefined {
    if (!this.#lists.leadsToList(value)) return undefined;
    const pieces = new JsonPieces();
    return this.#lists.save(() => (this.#write(value, pieces, 0) ? pieces.finish() : undefined));
  }

  /** Returns false if the value must be serialized in full. */
  #write(given: unknown, pieces: JsonPieces, depth: number): boolean {
    const value = (typeof given === "object" && given !== null && this.#plainOf?.(given)) || given;
    // A `toJSON` may depend on the key, which `JSON.stringify` passes only when it writes the complete value.
    if (hasToJson(value)) return false;
    if (!this.#lists.leadsToList(value, depth)) {
      if (!this.#mayStringify(value)) return false;
      const text: string | undefined = JSON.stringify(value);
      return text !== undefined && pieces.text(text);
    }
    if (this.#lists.mayGrow(value)) {
      const grown = this.#lists.grow(value);
      return grown !== undefined && pieces.text("[") && pieces.add(grown) && pieces.text("]");
    }
    if (Array.isArray(value)) return this.#writeArray(value, pieces, depth);
    let before = "{";
    for (const key of Object.keys(value)) {
      const property = dataProperty(value, key);
      if (property === undefined) return false;
      // `JSON.stringify` leaves out a key whose value is undefined. The serializers of some frameworks do not.
      if (property.value === undefined && this.#mayStringify(undefined)) continue;
      pieces.text(`${before}${JSON.stringify(key)}:`);
      if (!this.#write(property.value, pieces, depth + 1)) return false;
      before = ",";
    }
    return pieces.text("}");
  }

  #writeArray(array: unknown[], pieces: JsonPieces, depth: number): boolean {
    for (let at = 0; at < array.length; at++) {
      pieces.text(at === 0 ? "[" : ",");
      if (!this.#write(array[at], pieces, depth + 1)) return false;
    }
    return pieces.text("]");
  }
}

class JsonPieces {
  readonly #pieces: Uint8Array[] = [];
  #byteLength = 0;
  #text = "";

  text(text: string): true {
    this.#text += text;
    return true;
  }

  add({ pieces, byteLength }: Grown): true {
    this.#endText();
    for (const piece of pieces) this.#pieces.push(piece);
    this.#byteLength += byteLength;
    return true;
  }

  finish(): Bytes {
    this.#endText();
    return joined(this.#pieces, this.#byteLength);
  }

  #endText(): void {
    const bytes = Buffer.from(this.#text);
    this.#text = "";
    this.#pieces.push(bytes);
    this.#byteLength += bytes.length;
  }
}
