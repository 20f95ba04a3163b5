/**
 * The JSON form of a value for display. Parts that would take minutes or gigabytes are replaced by an `Opaque` with
 * `tag` and `bytes`, but without content.
 */

import { ForkpointError } from "../forkpoint-error.js";

/** The deepest level shown, as deep as values of the default serializer. */
export const SHOWN_DEPTH = 1_500;
/** The largest BigInt that is shown, in bytes. Its decimal digits take 60 ms. */
const BIGINT_BYTES = 64 * 2 ** 10;
/** The total size of the BigInts of more than a kilobyte that are shown, in bytes. */
const ALL_BIGINT_BYTES = 2 ** 20;
/** A BigInt of this size or less takes no time. */
const SMALL_BIGINT = 2n ** 8_192n;
/** The minimum length of a text to check, in characters. */
const LONG_TEXT = 2 ** 20;
/** The number of bytes per decimal digit. */
const BYTES_OF_DIGIT = Math.log2(10) / 8;

/** Tracks the limits while a value is shown. */
export class Shown {
  readonly #isStrict: boolean;
  #bigIntBytes = 0;

  /** With `isStrict`, leaving anything out is an error. */
  constructor(isStrict = false) {
    this.#isStrict = isStrict;
  }

  /** Returns the form for a container that is too deep. */
  tooDeep(): object {
    return this.#leftOut(`more than ${SHOWN_DEPTH} levels`, 0);
  }

  /** Returns the form for a BigInt that is too large. Returns null if the BigInt is shown. */
  bigInt(value: bigint): object | null {
    if (value < SMALL_BIGINT && value > -SMALL_BIGINT) return null;
    // Hexadecimal digits take no time, unlike decimal digits.
    return this.#large(Math.ceil((value < 0n ? -value : value).toString(16).length / 2));
  }

  /** Returns the form for a BigInt with too many decimal digits. Returns null if it may be read. */
  digits(count: number): object | null {
    const bytes = Math.ceil(count * BYTES_OF_DIGIT);
    return bytes <= 1_024 ? null : this.#large(bytes);
  }

  /** Refuses a long text whose JSON would take several times as many bytes. */
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
