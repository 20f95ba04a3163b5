/**
 * What people are shown of a value: its JSON form, without what would take minutes or gigabytes. What is left out is an
 * `Opaque` with `tag` and `bytes`, and without bytes.
 */

import { ForkpointError } from "../forkpoint-error.js";

/** The deepest level that is shown, as in the values of the default serializer. */
export const SHOWN_DEPTH = 1_500;
/** The largest BigInt that is shown, in bytes. Its decimal digits take 60 ms. */
const BIGINT_BYTES = 64 * 2 ** 10;
/** The total size of the BigInts of more than a kilobyte that are shown, in bytes. */
const ALL_BIGINT_BYTES = 2 ** 20;
/** A BigInt of this size or less takes no time. */
const SMALL_BIGINT = 2n ** 8_192n;
/** Only longer texts are looked at, in characters. */
const LONG_TEXT = 2 ** 20;
/** How many bytes a decimal digit takes. */
const BYTES_OF_DIGIT = Math.log2(10) / 8;

/** Counts what is shown of a value. */
export class Shown {
  readonly #isStrict: boolean;
  #bigIntBytes = 0;

  /** With `isStrict`, leaving something out is an error. */
  constructor(isStrict = false) {
    this.#isStrict = isStrict;
  }

  /** Returns the form of a container that is too deep. */
  tooDeep(): object {
    return this.#leftOut(`more than ${SHOWN_DEPTH} levels`, 0);
  }

  /** Returns null if a BigInt is shown. */
  bigInt(value: bigint): object | null {
    if (value < SMALL_BIGINT && value > -SMALL_BIGINT) return null;
    // Unlike decimal digits, hexadecimal ones take no time.
    return this.#large(Math.ceil((value < 0n ? -value : value).toString(16).length / 2));
  }

  /** Returns null if a BigInt with so many decimal digits is read. */
  digits(count: number): object | null {
    const bytes = Math.ceil(count * BYTES_OF_DIGIT);
    return bytes <= 1_024 ? null : this.#large(bytes);
  }

  /** Refuses a long text that would take several times as many bytes in JSON. */
  text(text: string): void {
    if (!this.#isStrict || text.length < LONG_TEXT) return;
    let escapes = 0;
    for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x20) escapes += 1;
    if (escapes > text.length / 8) this.#leftOut("Text", text.length);
  }

  #large(bytes: number): object | null {
    if (bytes <= BIGINT_BYTES) {
      this.#bigIntBytes += bytes;
      if (this.#bigIntBytes <= ALL_BIGINT_BYTES) return null;
    }
    return this.#leftOut("BigInt", bytes);
  }

  #leftOut(tag: string, bytes: number): object {
    if (this.#isStrict) throw new ForkpointError("UNSUPPORTED", `the value is too large to be shown (${tag})`);
    return { $type: "Opaque", tag, bytes, base64: "" };
  }
}
