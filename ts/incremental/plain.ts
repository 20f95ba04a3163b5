/**
 * Writes plain data in V8's format. For small values this is faster than V8's own serializer, which must be set up for
 * each value.
 *
 * A value is a tag and what belongs to it. Numbers are varints, and those with a sign have it in the lowest bit. An array of
 * n items is `A n`, the items, `$ 0 n`. An object is `o`, its keys and values, `{ n`. The characters of a string with two
 * bytes each begin at an even position, and a byte 0 before the tag fills up the place.
 */

const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x41, 0x24, 0x6f, 0x7b];
const [INTEGER, DOUBLE, DATE, LATIN1, TWO_BYTES] = [0x49, 0x4e, 0x44, 0x22, 0x63];
const [TRUE, FALSE, NULL, UNDEFINED, PADDING] = [0x54, 0x46, 0x30, 0x5f, 0];

/** A number takes at most so many bytes with its tag. */
const MOST_NUMBER = 11;
/** A shorter string is written character by character, which is faster than a call. */
const SHORT = 24;
const NOT_LATIN1 = /[^\0-\xff]/;

/** The length of the buffer. A buffer that has grown beyond the limit is given up. */
const [USUAL, MOST] = [64 << 10, 1 << 20];

/** Writes values one after the other. */
export class PlainWriter {
  #buffer = Buffer.allocUnsafeSlow(USUAL);
  #at = 0;
  /** Where the bytes begin that were not taken yet. It is even or odd as their position in the value is. */
  #from = 0;

  /** Begins at an even or an odd position. */
  begin(isOdd: boolean): void {
    if (this.#buffer.length > MOST) this.#buffer = Buffer.allocUnsafeSlow(USUAL);
    this.#from = this.#at = isOdd ? 1 : 0;
  }

  /** The number of bytes that were not taken yet. */
  get length(): number {
    return this.#at - this.#from;
  }

  /** Returns a copy of the bytes. */
  take(): Uint8Array {
    const isOdd = this.#at % 2 === 1;
    const bytes = Buffer.from(this.#buffer.subarray(this.#from, this.#at));
    this.begin(isOdd);
    return bytes;
  }

  /** Continues at an even position. */
  toEvenPosition(): void {
    if (this.#at % 2 === 1) this.#byte(PADDING);
  }

  /** Appends bytes that were written by V8's serializer for an even position. */
  append(bytes: Uint8Array): void {
    this.toEvenPosition();
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  beginObject(): void {
    this.#byte(OBJECT);
  }

  endObject(keys: number): void {
    this.#tagged(OBJECT_END, keys);
  }

  beginArray(length: number): void {
    this.#tagged(ARRAY, length);
  }

  endArray(length: number): void {
    this.#tagged(ARRAY_END, 0);
    this.#varint(length);
  }

  /**
   * Writes plain data: no getters, no holes, and no classes but Date. Returns false and writes nothing if V8's serializer
   * must write the value, because it contains something else.
   */
  value(value: unknown): boolean {
    const start = this.#at;
    if (this.#value(value)) return true;
    this.#at = start;
    return false;
  }

  #value(value: unknown): boolean {
    switch (typeof value) {
      case "string":
        this.text(value);
        return true;
      case "number":
        this.#number(value);
        return true;
      case "boolean":
        this.#byte(value ? TRUE : FALSE);
        return true;
      case "undefined":
        this.#byte(UNDEFINED);
        return true;
      case "object":
        return value === null ? (this.#byte(NULL), true) : this.#object(value);
      default:
        return false;
    }
  }

  #object(object: object): boolean {
    if (Array.isArray(object)) {
      const { length } = object;
      this.beginArray(length);
      for (let at = 0; at < length; at++) if (!this.#value(object[at])) return false;
      this.endArray(length);
      return true;
    }
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype === Date.prototype) {
      this.#double(DATE, Date.prototype.getTime.call(object));
      return true;
    }
    if (prototype !== Object.prototype && prototype !== null) return false;
    this.beginObject();
    let keys = 0;
    for (const key in object) {
      if (!isOrdinary(key)) return false;
      keys += 1;
      this.text(key);
      if (!this.#value((object as Record<string, unknown>)[key])) return false;
    }
    this.endObject(keys);
    return true;
  }

  text(text: string): void {
    const { length } = text;
    this.#reserve(2 * length + MOST_NUMBER);
    if (length < SHORT && this.#short(text)) return;
    if (Buffer.byteLength(text) === length || !NOT_LATIN1.test(text)) {
      this.#tagged(LATIN1, length);
      this.#at += this.#buffer.write(text, this.#at, "latin1");
      return;
    }
    const bytes = length * 2;
    // The tag and the length take two bytes or more.
    const head = 1 + varintLength(bytes);
    if ((this.#at + head) % 2 === 1) this.#byte(PADDING);
    this.#tagged(TWO_BYTES, bytes);
    this.#at += this.#buffer.write(text, this.#at, "utf16le");
  }

  #short(text: string): boolean {
    const buffer = this.#buffer;
    const start = this.#at + 2;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code > 0xff) return false;
      buffer[start + at] = code;
    }
    buffer[this.#at] = LATIN1;
    buffer[this.#at + 1] = text.length;
    this.#at = start + text.length;
    return true;
  }

  #number(value: number): void {
    const isInteger = Number.isInteger(value) && Math.abs(value) < 2 ** 30 && !Object.is(value, -0);
    if (isInteger) this.#tagged(INTEGER, value >= 0 ? value * 2 : -value * 2 - 1);
    else this.#double(DOUBLE, value);
  }

  #double(tag: number, value: number): void {
    this.#byte(tag);
    this.#reserve(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  #tagged(tag: number, number: number): void {
    this.#byte(tag);
    this.#varint(number);
  }

  #varint(number: number): void {
    this.#reserve(MOST_NUMBER);
    let left = number;
    for (; left >= 128; left = Math.floor(left / 128)) this.#buffer[this.#at++] = (left % 128) + 128;
    this.#buffer[this.#at++] = left;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#at++] = byte;
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#at + count));
    larger.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = larger;
  }
}

/** Returns true if V8 writes the key as a text: if it is no index. `__proto__` needs V8's serializer. */
export function isOrdinary(key: string): boolean {
  const first = key.charCodeAt(0);
  return !(first >= 0x30 && first <= 0x39) && key !== "__proto__";
}

function varintLength(number: number): number {
  let length = 1;
  for (let left = number; left >= 128; left = Math.floor(left / 128)) length += 1;
  return length;
}
