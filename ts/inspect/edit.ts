/** Edits a value in its JSON form. Never changes the form that was given. */

import { ForkpointError, show } from "../bridge/forkpoint-error.js";
import {
  type ArrayForm,
  type Entry,
  type Inside,
  type Pair,
  type Place,
  type Step,
  containerOf,
  entriesOf,
  isRecord,
  objectForm,
  opened,
  setKey,
  stepsTo,
  typeOf,
} from "../bridge/json-form/form.js";
import {
  Walker,
  formatPath,
  indexIn,
  parsePath,
  showPlace,
  stepsOfRef,
  type PathStep,
} from "../bridge/json-form/path.js";

/** Changes to a value, in the JSON form of values. */
export interface Edit {
  /** Each replaces the value at a path, in this order. */
  set?: ReadonlyArray<readonly [path: string | readonly PathStep[], value: unknown]> | undefined;
  /** A merge patch (RFC 7396). It is applied last. */
  patch?: unknown;
}

/**
 * Replaces the value at a path. All of the path must exist, but for its last key, or for the index after the last of a list.
 *
 * An object that is shared stays shared: a change within it is seen at all of its places. If an object is replaced at one
 * place, it stays as it was at the others.
 *
 * @throws ForkpointError `NOT_FOUND` that names the part of the path that is missing. `INVALID_ARGUMENT` for a wrong path
 *   and for a path with a range.
 */
export function setAt(form: unknown, path: string | readonly PathStep[], value: unknown): unknown {
  return edited(form, { set: [[path, value]] });
}

/**
 * Applies a merge patch (RFC 7396): keys of objects are replaced, added and, by null, removed. What is no object is
 * replaced as a whole.
 *
 * @throws ForkpointError `INVALID_ARGUMENT` if the patch is no object, or has an object for a Map or an Error, which would
 *   not be merged but lost.
 */
export function mergePatch(form: unknown, patch: unknown): unknown {
  const editor = new Editor(form);
  editor.merge(patch);
  return editor.form();
}

/** Sets values at paths, and then applies a patch. Shared objects are as described at {@link setAt}. */
export function edited(form: unknown, { patch, set = [] }: Edit): unknown {
  const editor = new Editor(form);
  for (const [path, value] of set) editor.set(typeof path === "string" ? parsePath(path) : path, value);
  if (patch !== undefined) editor.merge(patch);
  return editor.form();
}

/** An object of which the keys can be set without regard to `$type`. */
class Keys {
  readonly entries: Map<string, unknown>;

  constructor(entries: readonly Entry[]) {
    this.entries = new Map(entries);
  }
}

/**
 * Copies what is edited, and nothing else, until the new form is written. A copy takes the place of what it was made of
 * wherever that stands.
 */
class Editor {
  /** Follows the references of the old form. */
  readonly #old: Walker;
  #root: unknown;
  readonly #copies = new Map<object, object>();
  /** The copies, and the new objects that a patch makes. */
  readonly #mine = new Set<unknown>();
  /** The references within what was set. They lead through the new form. */
  readonly #newRefs = new Set<object>();

  constructor(form: unknown) {
    this.#old = new Walker(form);
    this.#root = form;
  }

  /** Returns a form as it is now. A reference is followed. */
  #now(form: unknown): unknown {
    const isNew = typeof form === "object" && form !== null && this.#newRefs.has(form);
    const target = isNew ? this.#newTarget(form as Record<string, unknown>) : this.#old.followed(form);
    return this.#copy(target);
  }

  #copy(form: unknown): unknown {
    return typeof form === "object" && form !== null ? (this.#copies.get(form) ?? form) : form;
  }

  /** Returns what a step leads to, as it is written. */
  #inside(form: unknown, step: Step): unknown {
    if (form instanceof Keys) return typeof step === "string" ? form.entries.get(step) : undefined;
    // A form that was copied may have changed, and a Walker remembers the keys of large Maps.
    return (this.#mine.has(form) ? new Walker(form) : this.#old).inside(form, step);
  }

  #newTarget(ref: Record<string, unknown>): unknown {
    const steps = typeof ref["value"] === "string" ? stepsOfRef(ref["value"]) : null;
    if (steps === null) return undefined;
    let form = this.#copy(this.#root);
    for (const step of steps) form = this.#copy(this.#inside(form, step));
    return typeof form === "object" && typeOf(form) !== "Ref" ? form : undefined;
  }

  /** Returns the copy of a container that is to be changed. */
  #mutable(form: object): object {
    if (this.#mine.has(form)) return form;
    const kind = containerOf(form)!;
    let copy: object;
    if (kind === "Object") copy = new Keys(entriesOf(form as Record<string, unknown>));
    else if (kind === "List") copy = (form as unknown[]).slice();
    else {
      copy = { ...form };
      const typed = copy as { value: unknown; properties?: Entry[] };
      typed.value = Array.isArray(typed.value) ? typed.value.slice() : { ...(typed.value as object) };
      if (kind === "Array") typed.properties = typed.properties!.slice();
    }
    this.#mine.add(copy);
    this.#copies.set(form, copy);
    return copy;
  }

  set(path: readonly PathStep[], value: unknown): void {
    const steps = path.map((step) => {
      if (typeof step !== "object") return step;
      throw new ForkpointError("INVALID_ARGUMENT", `${showPlace(path)} cannot be set: a range names no single value`);
    });
    this.#addRefs(value);
    const last = steps.at(-1);
    if (last === undefined) {
      this.#root = value;
      return;
    }
    let parent = this.#now(this.#root);
    for (const [at, step] of steps.slice(0, -1).entries()) {
      const child = this.#inside(parent, step);
      const next = child === undefined ? undefined : this.#now(child);
      if (next === undefined) throw missing(steps, at, isContainer(parent));
      // The entry of a Map is a list that is part of the form.
      parent = typeof step === "number" && typeOf(parent) === "Map" ? this.#entry(parent as object, step) : next;
    }
    if (!isContainer(parent)) throw missing(steps, steps.length - 1, false);
    if (!put(this.#mutable(parent as object), last, value)) throw missing(steps, steps.length - 1, true);
  }

  /** Returns the entry of a Map, to be changed. */
  #entry(map: object, step: number): unknown {
    const pairs = (this.#mutable(map) as { value: Pair[] }).value;
    const index = indexIn(pairs.length, step)!;
    const pair = pairs[index]!.slice() as Pair;
    this.#mine.add(pair);
    pairs[index] = pair;
    return pair;
  }

  merge(patch: unknown): void {
    if (containerOf(patch) !== "Object") {
      const given = isRecord(patch) ? "a value that is no plain object" : show(patch);
      throw new ForkpointError("INVALID_ARGUMENT", `a merge patch must be an object, and is ${given}`);
    }
    this.#addRefs(patch);
    const tasks: Array<{ target: Keys; patch: object; place: Place | null }> = [];
    const begin = (old: unknown, patch: object, place: Place | null): Keys => {
      const kind = old instanceof Keys ? "Object" : containerOf(old);
      if (kind === "Map" || kind === "Error") {
        const form = `{"$type":"${kind}",...}`;
        const message = `the patch has an object at ${showPlace(place)}, where ${kind === "Map" ? "a Map" : "an Error"} is`;
        throw new ForkpointError(
          "INVALID_ARGUMENT",
          `${message}: give all of it as ${form}, or set a value by its path`,
        );
      }
      const target = kind === "Object" ? (this.#mutable(old as object) as Keys) : new Keys([]);
      this.#mine.add(target);
      tasks.push({ target, patch, place });
      return target;
    };
    this.#root = begin(this.#now(this.#root), patch as object, null);
    for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
      const { target, patch, place } = task;
      for (const [key, value] of entriesOf(patch as Record<string, unknown>)) {
        if (value === null) target.entries.delete(key);
        else if (containerOf(value) === "Object") {
          const child = target.entries.get(key);
          const merged = begin(child === undefined ? undefined : this.#now(child), value as object, {
            parent: place,
            step: key,
          });
          // An object that is there already keeps its place, which may be a reference.
          if (this.#now(child) !== merged) target.entries.set(key, merged);
        } else target.entries.set(key, value);
      }
    }
  }

  #addRefs(root: unknown): void {
    const forms = [root];
    for (let form = forms.pop(); form !== undefined; form = forms.pop()) {
      if (typeOf(form) === "Ref") this.#newRefs.add(form as object);
      const kind = containerOf(form);
      if (kind !== null) for (const each of opened(kind, form as object, null).inside) forms.push(each.form);
    }
  }

  /** Writes the new form. Each object is written out where it comes first, as `toJsonForm` does. */
  form(): unknown {
    const places = new Map<object, Place | null>();
    const out: unknown[] = [];
    const tasks: Inside[] = [{ form: this.#root, into: out, key: 0, place: null }];
    for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
      const { form, into, key, place } = task;
      let now = this.#now(form);
      // A reference that leads to nothing stays, and is refused when the value is made.
      if (now === undefined) now = form;
      if (typeof now !== "object" || now === null || unshared.has(typeOf(now))) {
        setKey(into, key, now);
        continue;
      }
      const known = places.get(now);
      if (known !== undefined || places.has(now)) {
        setKey(into, key, { $type: "Ref", value: formatPath(stepsTo(known!)) });
        continue;
      }
      places.set(now, place);
      const plain = now instanceof Keys ? objectForm([...now.entries]) : now;
      const kind = containerOf(plain);
      if (kind === null) {
        setKey(into, key, plain);
        continue;
      }
      const { copy, inside } = opened(kind, plain, place);
      setKey(into, key, copy);
      for (const each of inside.toReversed()) tasks.push(each);
    }
    return out[0];
  }
}

/** The types whose values are no objects. */
const unshared: ReadonlySet<unknown> = new Set(["Ref", "Number", "BigInt", "Undefined", "Hole", "Opaque", "More"]);

function isContainer(form: unknown): boolean {
  return form instanceof Keys || containerOf(form) !== null;
}

/** Sets what a step leads to. Returns false if a container has no such place. */
function put(form: object, step: Step, value: unknown): boolean {
  if (form instanceof Keys) {
    if (typeof step !== "string") return false;
    form.entries.set(step, value);
    return true;
  }
  if (Array.isArray(form)) return putItem(form, step, value);
  const typed = form as { $type: string; value: unknown };
  switch (typed.$type) {
    case "Map":
      return typeof step === "string"
        ? putEntry(typed.value as Pair[], step, value)
        : putItem(typed.value as unknown[], step, value);
    case "Set":
      return putItem(typed.value as unknown[], step, value);
    case "Error":
      if (typeof step !== "string") return false;
      setKey(typed.value as object, step, value);
      return true;
    default:
      return putElement(form as ArrayForm, step, value);
  }
}

function putItem(items: unknown[], step: Step, value: unknown): boolean {
  if (typeof step !== "number") return false;
  const index = step === items.length ? step : indexIn(items.length, step);
  if (index !== undefined) items[index] = value;
  return index !== undefined;
}

function putEntry(pairs: Pair[], key: string, value: unknown): boolean {
  const index = pairs.findIndex((pair) => pair[0] === key);
  pairs[index < 0 ? pairs.length : index] = [key, value];
  return true;
}

function putElement(form: ArrayForm, step: Step, value: unknown): boolean {
  if (typeof step === "string") return putEntry(form.properties, step, value);
  const index = step === form.length ? step : indexIn(form.length, step);
  if (index === undefined) return false;
  if (index < form.value.length) form.value[index] = value;
  else putEntry(form.properties, String(index), value);
  form.length = Math.max(form.length, index + 1);
  return true;
}

function missing(steps: readonly Step[], at: number, container: boolean): ForkpointError {
  const [path, there] = [showPlace(steps), showPlace(steps.slice(0, at))];
  const step = showPlace(steps.slice(at, at + 1));
  const why = container ? `${there} has no ${step}` : `${there} has nothing inside, and so no ${step}`;
  return new ForkpointError("NOT_FOUND", `${path} cannot be set: ${why}. All of a path but its last key must exist`);
}
