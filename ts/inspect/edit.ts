/** Edits a value in its JSON form. The given form never changes. */

import { ForkpointError, show } from "../bridge/forkpoint-error.js";
import {
  type Place,
  type Step,
  containerOf,
  entriesOf,
  isRecord,
  placeOf,
  setKey,
  stepOfProperty,
  typeOf,
} from "../bridge/json-form/form.js";
import { FormReader, malformed, readForm, setErrorProperty } from "../bridge/json-form/from-json-form.js";
import { Walker, indexIn, parsePath, showPlace, type PathStep } from "../bridge/json-form/path.js";
import { toJsonForm } from "../bridge/json-form/to-json-form.js";

/** Changes to a value, in the JSON form of values. */
export interface Edit {
  /** Replaces the value at each path, in this order. */
  set?: ReadonlyArray<readonly [path: string | readonly PathStep[], value: unknown]> | undefined;
  /** A merge patch (RFC 7396). It is applied last. */
  patch?: unknown;
}

/**
 * Edits a value. All keys of a path but the last must exist. The last one may also be the index after the end of a
 * list. A merge patch adds and replaces keys of objects, and removes keys whose new value is null. It replaces any
 * other value completely.
 *
 * A shared object stays shared: a change inside it appears at all of its places. Replacing the object at one place does
 * not change its other places.
 *
 * @throws ForkpointError `NOT_FOUND` that names the missing part of the path. `INVALID_ARGUMENT` for a wrong path or a
 *   range, for a malformed form, and for a patch that is not an object or has an object for a Map or an Error, because
 *   the value would be lost instead of merged.
 */
export function edited(form: unknown, { patch, set = [] }: Edit): unknown {
  const editor = new Editor(form);
  for (const [path, value] of set) editor.set(typeof path === "string" ? parsePath(path) : path, value);
  if (patch !== undefined) editor.merge(patch);
  return toJsonForm(editor.root);
}

/** Edits the value of a form, as a program would. */
class Editor {
  root: unknown;
  /** The form of each object that an edit has made. The object is empty until `fill`. */
  readonly #made = new Map<unknown, object>();
  readonly #reader = new FormReader((steps) => this.#target(steps), true, this.#made);
  readonly #walker = new Walker(undefined);

  constructor(form: unknown) {
    this.root = readForm(form, true);
  }

  /** Returns the target of a `Ref` in an edit. The path of the `Ref` leads through the edited value. */
  #target(steps: readonly Step[]): unknown {
    let value = this.root;
    for (const [at, step] of steps.entries()) {
      const form = this.#made.get(value);
      if (form !== undefined) {
        const target = this.#walker.target(steps.slice(at), form);
        return target && this.#reader.begin(target, placeOf(steps));
      }
      value = inside(value, step);
    }
    return typeof value === "object" && value !== null ? value : undefined;
  }

  set(path: readonly PathStep[], form: unknown): void {
    const steps = path.map((step) => {
      if (typeof step !== "object") return step;
      throw new ForkpointError(
        "INVALID_ARGUMENT",
        `${showPlace(path)} cannot be set: a range does not name a single value`,
      );
    });
    this.#made.clear();
    const value = this.#reader.begin(form, placeOf(steps));
    const last = steps.at(-1);
    if (last === undefined) {
      this.root = value;
      return this.#reader.fill();
    }
    let into = this.root;
    /** The Map and the index, if `into` is a copy of a Map's entry. */
    let entry: [map: Map<unknown, unknown>, index: number] | undefined;
    for (const [at, step] of steps.slice(0, -1).entries()) {
      const next = inside(into, step);
      if (next === NOTHING) throw missing(steps, at, isContainer(into));
      entry = into instanceof Map && typeof step === "number" ? [into, step] : undefined;
      into = next;
    }
    // Fill an entry's list first, because a Map stores the key and the value, not the list. Put any other value into
    // its container before filling it, because a `Ref` inside it may lead through its own path.
    const isEntry = into instanceof Map && typeof last === "number";
    if (isEntry) this.#reader.fill();
    if (!isContainer(into) || !put(into, last, value, steps)) throw missing(steps, steps.length - 1, isContainer(into));
    if (entry !== undefined) put(entry[0], entry[1], into, steps.slice(0, -1));
    this.#reader.fill();
  }

  merge(patch: unknown): void {
    if (containerOf(patch) !== "Object") {
      const given = isRecord(patch) ? "a value that is not a plain object" : show(patch);
      throw new ForkpointError("INVALID_ARGUMENT", `a merge patch must be an object, but is ${given}`);
    }
    this.#made.clear();
    const tasks: Array<{ target: object; patch: object; place: Place | null }> = [];
    const refs: Array<() => void> = [];
    const begin = (old: unknown, patch: object, place: Place | null): object => {
      if (old instanceof Map || old instanceof Error) {
        const [kind, name] = old instanceof Map ? ["Map", "a Map"] : ["Error", "an Error"];
        const message = `the patch has an object at ${showPlace(place)}, but the state has ${name} there`;
        const remedy = `replace all of it with {"$type":"${kind}",...}, or set a value by its path`;
        throw new ForkpointError("INVALID_ARGUMENT", `${message}: ${remedy}`);
      }
      const target = isPlain(old) ? old : {};
      tasks.push({ target, patch, place });
      return target;
    };
    this.root = begin(this.root, patch as object, null);
    for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
      const { target, patch, place: parent } = task;
      for (const [key, form] of entriesOf(patch as Record<string, unknown>)) {
        const place = { parent, step: key };
        const read = () => setKey(target, key, this.#reader.begin(form, place));
        if (form === null) delete (target as Record<string, unknown>)[key];
        else if (containerOf(form) === "Object") setKey(target, key, begin(inside(target, key), form as object, place));
        else if (typeOf(form) !== "Ref") read();
        else {
          // The target of the `Ref` may be added later in this patch, so read the `Ref` later. Set the key now to keep
          // the order of the keys.
          setKey(target, key, null);
          refs.push(read);
        }
      }
    }
    for (const read of refs) read();
    this.#reader.fill();
  }
}

const NOTHING = Symbol("nothing");

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function isContainer(value: unknown): value is object {
  return (
    isPlain(value) || Array.isArray(value) || value instanceof Map || value instanceof Set || value instanceof Error
  );
}

/** Returns the value at a step, or `NOTHING`. In a Map, a number leads to a copy of an entry. */
function inside(value: unknown, step: Step): unknown {
  if (!isContainer(value)) return NOTHING;
  if (value instanceof Map && typeof step === "string") return value.has(step) ? value.get(step) : NOTHING;
  if (value instanceof Map || value instanceof Set || (Array.isArray(value) && typeof step === "number")) {
    const items: unknown[] = Array.isArray(value) ? value : [...value];
    const index = typeof step === "number" ? indexIn(items.length, step) : undefined;
    return index === undefined ? NOTHING : items[index];
  }
  const isThere =
    typeof step === "string" && (Object.hasOwn(value, step) || (step === "name" && value instanceof Error));
  if (!isThere || (Array.isArray(value) && !isName(step))) return NOTHING;
  return (value as unknown as Record<string, unknown>)[step];
}

/** Returns true for the key of a named property of a list. */
const isName = (key: string): boolean => key !== "length" && typeof stepOfProperty(key) === "string";

/** Sets the value at a step. Returns false if the container cannot have this key or index. */
function put(into: object, step: Step, value: unknown, path: readonly Step[]): boolean {
  if (into instanceof Map && typeof step === "string") into.set(step, value);
  else if (into instanceof Map || into instanceof Set || (Array.isArray(into) && typeof step === "number")) {
    const items: unknown[] = Array.isArray(into) ? into : [...into];
    const index = step === items.length ? step : typeof step === "number" ? indexIn(items.length, step) : undefined;
    if (index === undefined) return false;
    items[index] = value;
    if (!Array.isArray(into)) refill(into, items, path);
  } else if (typeof step !== "string") return false;
  else if (into instanceof Error) setErrorProperty(into, step, value);
  else if (Array.isArray(into) && (!isName(step) || !Object.keys(into).some(isName))) return false;
  else setKey(into, step, value);
  return true;
}

/** Replaces the entries of a Map or the items of a Set, in order. */
function refill(into: Map<unknown, unknown> | Set<unknown>, items: readonly unknown[], path: readonly Step[]): void {
  const isMap = into instanceof Map;
  into.clear();
  for (const item of items) {
    if (!isMap) into.add(item);
    else if (Array.isArray(item) && item.length === 2) into.set(item[0], item[1]);
    else throw malformed(placeOf(path.slice(0, -1)), "this is not a valid form of the type Map");
  }
  if (into.size < items.length)
    throw malformed(
      placeOf(path),
      isMap ? "a Map cannot have the same key twice" : "a Set cannot have the same item twice",
    );
}

function missing(steps: readonly Step[], at: number, container: boolean): ForkpointError {
  const [path, there] = [showPlace(steps), showPlace(steps.slice(0, at))];
  const step = showPlace(steps.slice(at, at + 1));
  const why = container ? `${there} has no ${step}` : `${there} has no ${step}, because it contains no other values`;
  return new ForkpointError(
    "NOT_FOUND",
    `${path} cannot be set: ${why}. Every key of the path except the last one must exist`,
  );
}
