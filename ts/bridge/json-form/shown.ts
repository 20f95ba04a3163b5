/**
 * What people are shown of a value: its JSON form, without what would take minutes or gigabytes. What is left out is an
 * `Opaque` with `tag` and `bytes`, and without bytes.
 */

/** The deepest level that is shown, as in the values of the default serializer. */
export const SHOWN_DEPTH = 1_500;
/** The largest BigInt that is shown, in bytes. Its decimal digits take 60 ms. */
const BIGINT_BYTES = 64 * 2 ** 10;
/** The total size of the BigInts of more than a kilobyte that are shown, in bytes. */
const ALL_BIGINT_BYTES = 2 ** 20;
/** A BigInt of this size or less takes no time. */
const SMALL_BIGINT = 2n ** 8_192n;
/** How many bytes a decimal digit takes. */
const BYTES_OF_DIGIT = Math.log2(10) / 8;

/** Counts what is shown of a value. */
export class Shown {
  /** True if something was left out. */
  isCut = false;
  #bigIntBytes = 0;

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

  #large(bytes: number): object | null {
    if (bytes <= BIGINT_BYTES) {
      this.#bigIntBytes += bytes;
      if (this.#bigIntBytes <= ALL_BIGINT_BYTES) return null;
    }
    return this.#leftOut("BigInt", bytes);
  }

  #leftOut(tag: string, bytes: number): object {
    this.isCut = true;
    return { $type: "Opaque", tag, bytes, base64: "" };
  }
}
