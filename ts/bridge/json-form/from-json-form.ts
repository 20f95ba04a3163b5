/** Makes values of their JSON form. `form.ts` describes the form. */

import { ForkpointError } from "../errors.js";
import {
  type ArrayForm,
  type Pair,
  type Place,
  type Step,
  containerOf,
  entriesOf,
  placeOf,
  setKey,
  typeOf,
} from "./form.js";
import { Walker, showPlace, stepsOfRef } from "./path.js";
import { safeJson } from "./json-text.js";
import { Shown } from "./shown.js";

const VIEW = /^(?:(?:Int|Uint)(?:8|16|32)|Uint8Clamped|Float(?:16|32|64)|Big(?:Int|Uint)64)Array$|^DataView$/;
const ERROR = /^(?:Eval|Range|Reference|Syntax|Type|URI)?Error$/;
const NUMBER = /^(?:NaN|-?Infinity|-0)$/;

/** A date without a time is in UTC. A time needs its zone, so that the value does not depend on this machine's. */
const DATE = /^(\d{4}|[+-]\d{6})-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/**
 * Returns the value of a JSON form.
 * @throws ForkpointError `UNSUPPORTED` for `Opaque` and for an unknown `$type`, `INVALID_ARGUMENT` for a malformed
 *   form. The message has the path.
 * @example fromJsonForm({ $type: "Date", value: "2026-01-01T00:00:00.000Z" }); // a Date
 */
export function fromJsonForm(form: unknown): unknown {
  return readForm(form, false);
}

/**
 * Reads an entire form. With `keepsOpaque`, an `Opaque` in the form becomes an {@link Opaque}, and so does a BigInt
 * that is too large to show. Otherwise an `Opaque` is an error.
 */
export function readForm(root: unknown, keepsOpaque: boolean): unknown {
  const walker = new Walker(root);
  const reader: FormReader = new FormReader((steps) => {
    const form = walker.target(steps);
    return form && reader.begin(form, placeOf(steps));
  }, keepsOpaque);
  const value = reader.begin(root, null);
  reader.fill();
  return value;
}

/** Stands for a value whose bytes cannot be read or shown. Holds the value's form. */
export class Opaque {
  readonly form: object;

  constructor(form: object) {
    this.form = form;
  }
}

/** A container that is created but not filled yet. */
interface Task {
  form: object;
  value: object;
  place: Place | null;
}

/** Creates each object when it first occurs, and fills it later. Depth, order and cycles of references don't matter. */
export class FormReader {
  readonly #follow: (steps: readonly Step[]) => unknown;
  readonly #keepsOpaque: boolean;
  readonly #forms: Map<unknown, object> | undefined;
  /** Values by form. A form that occurs twice becomes one value. */
  readonly #values = new Map<object, unknown>();
  readonly #tasks: Task[] = [];
  readonly #shown = new Shown();

  /**
   * `follow` returns the object at the path of a `Ref`, or undefined if there is none. The constructor adds the form of
   * each new container to `forms`.
   */
  constructor(follow: (steps: readonly Step[]) => unknown, keepsOpaque: boolean, forms?: Map<unknown, object>) {
    this.#follow = follow;
    this.#keepsOpaque = keepsOpaque;
    this.#forms = forms;
  }

  /** Returns the value of a form. Its containers are empty until `fill`. */
  begin(form: unknown, place: Place | null): unknown {
    return this.#value(form, place, undefined);
  }

  fill(): void {
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) this.#fill(task);
  }

  /** Returns the value of a form at `step` in `parent` or, without a step, at `parent` itself. */
  #value(form: unknown, parent: Place | null, step: Step | undefined): unknown {
    switch (typeof form) {
      case "string":
      case "boolean":
      case "number":
        return form;
      case "object":
        break;
      default:
        throw malformed(within(parent, step), `a ${typeof form} is not JSON`);
    }
    if (form === null) return null;
    const known = this.#values.get(form);
    if (known !== undefined) return known;
    const place = within(parent, step);
    const value = typeOf(form) === "Ref" ? this.#ref(form as Record<string, unknown>, place) : this.#made(form, place);
    this.#values.set(form, value);
    return value;
  }

  #ref(ref: Record<string, unknown>, place: Place | null): unknown {
    const steps = stepsOfRef(ref);
    const value = steps === null ? undefined : this.#follow(steps);
    if (typeof value === "object") return value;
    const path = ref["value"];
    const shown =
      typeof path === "string" ? safeJson(path.length > 400 ? `${path.slice(0, 400)}...` : path) : "no text";
    const where = value === undefined ? "nothing" : `a ${typeof value}`;
    throw malformed(place, `its Ref leads to ${where}: the path is ${shown}`);
  }

  /** Creates a value. Containers stay empty. */
  #made(form: object, place: Place | null): unknown {
    const later = <T extends object>(value: T): T => {
      this.#tasks.push({ form, value, place });
      this.#forms?.set(value, form);
      return value;
    };
    switch (containerOf(form)) {
      case "List":
      case "Array":
        return later([]);
      case "Object":
        return later({});
      case "Map":
        return later(new Map());
      case "Set":
        return later(new Set());
      case "Error":
        return later(this.#error(form as Record<string, unknown>));
      default:
        return this.#leaf(form as Record<string, unknown>, place);
    }
  }

  #fill({ form, value, place }: Task): void {
    if (Array.isArray(value)) {
      if (Array.isArray(form)) return this.#items(value, form, place);
      const { value: items, length, properties } = form as ArrayForm;
      this.#items(value, items, place);
      value.length = length;
      for (const [key, each] of properties) {
        if (key === "length") throw malformed(place, 'a list cannot have a property "length"');
        setKey(value, key, this.#value(each, place, key));
        if (value.length !== length) throw malformed(place, `its property ${safeJson(key)} is beyond its length`);
      }
    } else if (value instanceof Map) {
      for (const [index, [key, each]] of (form as { value: Pair[] }).value.entries()) {
        const text = typeof key === "string";
        const entry: Place = { parent: place, step: text ? key : index };
        const newKey = text ? key : this.#value(key, entry, 0);
        if (value.has(newKey)) throw malformed(entry, "a Map cannot have the same key twice");
        value.set(newKey, text ? this.#value(each, entry, undefined) : this.#value(each, entry, 1));
      }
    } else if (value instanceof Set) {
      for (const [index, each] of (form as { value: unknown[] }).value.entries()) {
        const item = this.#value(each, place, index);
        if (value.has(item)) throw malformed({ parent: place, step: index }, "a Set cannot have the same item twice");
        value.add(item);
      }
    } else if (value instanceof Error) {
      for (const [key, each] of entriesOf(form as Record<string, unknown>))
        setErrorProperty(value, key, this.#value(each, place, key));
    } else {
      for (const [key, each] of entriesOf(form as Record<string, unknown>)) {
        setKey(value, key, this.#value(each, place, key));
      }
    }
  }

  #items(list: unknown[], forms: readonly unknown[], place: Place | null): void {
    list.length = forms.length;
    for (const [index, form] of forms.entries()) {
      if (typeOf(form) !== "Hole") list[index] = this.#value(form, place, index);
    }
  }

  #error(form: Record<string, unknown>): Error {
    const { name } = form["value"] as { name?: unknown };
    const Class =
      typeof name === "string" && ERROR.test(name) ? (Reflect.get(globalThis, name) as ErrorConstructor) : Error;
    const error = new Class();
    // Delete the stack of this call. If the form has a stack, it is set later.
    delete (error as { stack?: unknown }).stack;
    return error;
  }

  #leaf(form: Record<string, unknown>, place: Place | null): unknown {
    const { $type: type, value } = form;
    switch (type) {
      case "Undefined":
        return undefined;
      case "Number":
        if (typeof value === "string" && NUMBER.test(value)) return Number(value);
        break;
      case "BigInt":
        if (typeof value === "string" && /^-?\d+$/.test(value)) {
          const large = this.#keepsOpaque ? this.#shown.digits(value.length) : null;
          return large === null ? BigInt(value) : new Opaque(large);
        }
        break;
      case "Date":
        return dateOf(value, place);
      case "RegExp":
        return regExpOf(value, place);
      case "Bytes":
        return bytesOf(form, place);
      case "Boxed": {
        const primitive = this.#value(value, place, undefined);
        if (primitive !== null && primitive !== undefined && typeof primitive !== "object")
          return new Object(primitive);
        break;
      }
      case "Hole":
        throw malformed(place, "only a list can have holes");
      case "Opaque":
        if (this.#keepsOpaque) return new Opaque(form);
        throw unsupported(
          place,
          form["base64"] === ""
            ? `it was left out, because it is too large to be shown (${safeJson(form["tag"] ?? null)})`
            : `it was written by the serializer ${safeJson(form["tag"] ?? null)}, which is not registered`,
        );
      case "More":
        throw unsupported(place, "it was left out because of a limit. Read the complete value");
      case "Object":
      case "Map":
      case "Set":
      case "Error":
      case "Array":
        break;
      default: {
        const shown = typeof type === "string" ? safeJson(type.slice(0, 100)) : `a ${typeof type}`;
        const hint = 'An object that has this key itself is {"$type":"Object","value":[[key,value],...]}';
        throw unsupported(place, `its "$type" is not known: ${shown}. ${hint}`);
      }
    }
    throw malformed(place, `this is not a valid form of the type ${type}`);
  }
}

function within(parent: Place | null, step: Step | undefined): Place | null {
  return step === undefined ? parent : { parent, step };
}

/** Sets a property like the properties of a thrown error. */
export function setErrorProperty(error: Error, key: string, value: unknown): void {
  if (key === "name" && error.name === value) return;
  const enumerable = !["name", "message", "stack", "cause"].includes(key);
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}

function dateOf(text: unknown, place: Place | null): Date {
  if (text === null) return new Date(Number.NaN);
  const date = new Date(typeof text === "string" && DATE.test(text) ? text : Number.NaN);
  if (Number.isNaN(date.getTime())) {
    throw malformed(place, 'a Date is ISO text with its time zone, such as "2026-01-31T09:30:00Z", or null');
  }
  return date;
}

function regExpOf(value: unknown, place: Place | null): RegExp {
  const { source, flags } = (value ?? {}) as { source?: unknown; flags?: unknown };
  if (typeof source !== "string" || typeof flags !== "string") {
    throw malformed(place, 'a RegExp is {"source":text,"flags":text}');
  }
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw malformed(place, "this is not a valid regular expression", cause);
  }
}

function bytesOf({ view, value }: Record<string, unknown>, place: Place | null): unknown {
  if (typeof value !== "string") throw malformed(place, "the value of Bytes must be base64");
  const read = Buffer.from(value, "base64");
  if (read.toString("base64") !== value) throw malformed(place, "this is not base64, or not padded with =");
  // Give each view its own memory, because small buffers share memory.
  const { buffer } = new Uint8Array(read);
  if (view === "ArrayBuffer") return buffer;
  if (view === "Buffer") return Buffer.from(buffer);
  const View: unknown = typeof view === "string" && VIEW.test(view) ? Reflect.get(globalThis, view) : undefined;
  if (View === undefined) throw unsupported(place, "this runtime does not know the view of these Bytes");
  try {
    return new (View as new (buffer: ArrayBuffer) => ArrayBufferView)(buffer);
  } catch (cause) {
    throw malformed(place, `these ${buffer.byteLength} bytes cannot be a ${String(view)}`, cause);
  }
}

export function malformed(place: Place | null, why: string, cause?: unknown): ForkpointError {
  const message = `${showPlace(place)} cannot be read from its JSON form: ${why}`;
  return new ForkpointError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

function unsupported(place: Place | null, why: string): ForkpointError {
  return new ForkpointError("UNSUPPORTED", `${showPlace(place)} cannot be read from its JSON form: ${why}`);
}
