/**
 * Cuts the JSON form of a value, so that an answer stays small for any value. A
 * `{"$type":"More","path":[...],"count":n,"of":kind}` replaces what is cut:
 *
 * - in place of a container: `path` leads to it, `count` is the number of its items, `of` its kind;
 * - after the last shown item of a list, a Set or a Map, and after the last pair of `{"$type":"Object","value":[...]}`,
 *   the form of an object with too many keys: `path` leads to the container, and `count` items follow, which its range
 *   `[shown:]` contains;
 * - in place of a long text: `text` is its beginning, `count` characters follow;
 * - in place of other large values, such as Bytes: `count` is the size of its JSON in bytes, `of` its type.
 */

import {
  type ArrayForm,
  type Container,
  type Item,
  type Step,
  containerOf,
  itemsOf,
  setKey,
  typeOf,
} from "../bridge/json-form/form.js";
import { safeJson } from "../bridge/json-form/json-text.js";
import { Walker, boundsIn, indexIn, lengthOf, parsePath, partOf, type PathStep } from "../bridge/json-form/path.js";

/** The limits of what is shown. */
export interface Limits {
  /** The number of opened levels of containers. Default: 3. */
  depth?: number | undefined;
  /** The number of shown items of each container. Default: 200. */
  items?: number | undefined;
  /** The maximum size of a text's JSON, in bytes. Default: 65,536. */
  textBytes?: number | undefined;
  /** The maximum size of the result's JSON, in bytes of `safeJson`. Default: 524,288. */
  bytes?: number | undefined;
  /** The path of the value to show. Default: the entire value. */
  path?: string | readonly PathStep[] | undefined;
}

/** The number of shown characters of a long text. */
const SHOWN_TEXT = 1_024;
/** The maximum size of the JSON around a container's items, and around each item without its key, in bytes. */
const AROUND = 96;
const AROUND_ITEM = 5;

/** A container that a `More` replaces. Opening it replaces the `More` with its items. */
interface Closed {
  form: object;
  kind: Container;
  path: readonly Step[];
  /** The number of items before the first one, cut off by a range of the path. */
  offset: number;
  depth: number;
  size: number;
  into: object;
  key: Step;
}

/** The shown form of a value, and the form's size. */
interface Shown {
  form: unknown;
  size: number;
  /** The kind of the container, if it can be opened. */
  kind: Container | null;
}

/**
 * Returns the value at a path, cut to a size. Outer levels come before inner ones. Undefined: there is no such value.
 * @throws ForkpointError `INVALID_ARGUMENT` for a wrong path.
 */
export function limitedJsonForm(form: unknown, limits: Limits = {}): unknown {
  const { path = [] } = limits;
  const found = locate(form, typeof path === "string" ? parsePath(path) : path);
  return found === undefined ? undefined : new Limiter(limits).cut(found);
}

interface Located {
  form: unknown;
  path: Step[];
  offset: number;
}

/** Returns the value at a path, and the path without ranges and negative indexes. */
function locate(root: unknown, steps: readonly PathStep[]): Located | undefined {
  const walker = new Walker(root);
  const path: Step[] = [];
  let form = walker.followed(root);
  let offset = 0;
  for (const step of steps) {
    if (form === undefined) return undefined;
    if (typeof step === "object") {
      offset += boundsIn(lengthOf(form), step)[0];
      form = partOf(form, step);
    } else {
      path.push(typeof step === "number" ? offset + (indexIn(lengthOf(form), step) ?? 0) : step);
      form = walker.followed(walker.inside(form, step));
      offset = 0;
    }
  }
  return form === undefined ? undefined : { form, path, offset };
}

class Limiter {
  readonly #limits;
  #left: number;

  constructor({ depth = 3, items = 200, textBytes = 65_536, bytes = 524_288 }: Limits) {
    this.#limits = { depth, items, textBytes };
    this.#left = bytes;
  }

  /** Opens containers level by level until the size limit is reached. */
  cut({ form, path, offset }: Located): unknown {
    const out: unknown[] = [];
    const root = this.#shown(form, path);
    out.push(root.form);
    this.#left -= root.size;
    const { kind, size } = root;
    const closed: Closed[] =
      kind === null ? [] : [{ form: form as object, kind, path, offset, depth: 0, size, into: out, key: 0 }];
    // The loop also visits the containers that are added while it runs.
    for (const each of closed) {
      if (each.depth < this.#limits.depth) for (const inner of this.#open(each)) closed.push(inner);
    }
    return out[0];
  }

  /** Replaces the `More` of a container. Returns the closed containers inside. */
  #open(container: Closed): Closed[] {
    const { form, kind, path, offset, depth, into, key } = container;
    const count = lengthOfAll(form, kind);
    // A nested container may use half of the remaining bytes. The other half remains for later containers.
    let room = container.size + (depth === 0 ? this.#left : Math.floor(this.#left / 2)) - AROUND;
    room -= sizeOf(more(path, count, kind));
    const before = room;
    const shown: Array<{ item: Item; forms: Located[]; parts: Shown[] }> = [];
    for (const item of itemsOf(form, kind)) {
      if (shown.length === this.#limits.items) break;
      const forms = formsOf(item, path, offset);
      const parts = forms.map((each) => this.#shown(each.form, each.path));
      const around = AROUND_ITEM + (item.name === null ? 0 : sizeOf(item.name));
      const size = parts.reduce((sum, part) => sum + part.size, around);
      if (size > room) break;
      room -= size;
      shown.push({ item, forms, parts });
    }
    if (shown.length === 0 && count > 0) return [];
    this.#left -= before - room + AROUND - container.size;
    const rest = count - shown.length;
    if (rest > 0) this.#left -= sizeOf(more(path, rest, kind));
    const target = openedForm(form, kind, rest === 0 ? null : more(path, rest, kind));
    const inner: Closed[] = [];
    for (const { item, forms, parts } of shown) {
      const slots = target.add(item, parts);
      for (const [i, { form, size, kind }] of parts.entries()) {
        const [into, key] = slots[i]!;
        setKey(into, key, form);
        if (kind === null) continue;
        const whole = forms[i]!.form as object;
        inner.push({ form: whole, kind, path: forms[i]!.path, offset: 0, depth: depth + 1, size, into, key });
      }
    }
    setKey(into, key, target.finish());
    return inner;
  }

  /** Returns the shown form of a value: the value itself, or a `More`. */
  #shown(form: unknown, path: readonly Step[]): Shown {
    if (typeof form === "string") return this.#text(form, path);
    const kind = containerOf(form);
    if (kind !== null && lengthOfAll(form as object, kind) > 0) {
      const closed = more(path, lengthOfAll(form as object, kind), kind);
      return { form: closed, size: sizeOf(closed), kind };
    }
    const size = sizeOf(form);
    if (size <= this.#limits.textBytes) return { form, size, kind: null };
    const closed = more(path, size, String(typeOf(form)));
    return { form: closed, size: sizeOf(closed), kind: null };
  }

  #text(text: string, path: readonly Step[]): Shown {
    const size = text.length > this.#limits.textBytes ? Number.POSITIVE_INFINITY : sizeOf(text);
    if (size <= this.#limits.textBytes) return { form: text, size, kind: null };
    // Do not cut a surrogate pair in half.
    const end = /[\ud800-\udbff]$/.test(text.slice(0, SHOWN_TEXT)) ? SHOWN_TEXT - 1 : SHOWN_TEXT;
    const begin = text.slice(0, Math.min(end, this.#limits.textBytes));
    const cut = { ...more(path, text.length - begin.length, "Text"), text: begin };
    return { form: cut, size: sizeOf(cut), kind: null };
  }
}

const sizeOf = (form: unknown): number => Buffer.byteLength(safeJson(form));

const more = (path: readonly Step[], count: number, of: string) => ({ $type: "More", path, count, of });

/** The number of items, including a list's named properties. */
function lengthOfAll(form: object, kind: Container): number {
  if (kind !== "Array") return lengthOf(form);
  const { value, properties } = form as ArrayForm;
  return value.length + properties.length;
}

/** Returns the forms of an item: its value and, in a Map, a key that is not a text. */
function formsOf({ step, steps, key, value }: Item, path: readonly Step[], offset: number): Located[] {
  const at = typeof step === "number" ? step + offset : step;
  const own = { form: value, path: [...path, at, ...steps.slice(1)], offset: 0 };
  return key === undefined ? [own] : [{ form: key, path: [...path, at, 0], offset: 0 }, own];
}

type Slot = [into: object, key: Step];

/**
 * Returns a builder for a container of the same kind. `add` appends an item. `finish` appends `rest`, the `More` for
 * the remaining items.
 */
function openedForm(
  form: object,
  kind: Container,
  rest: object | null,
): { add(item: Item, parts: readonly unknown[]): Slot[]; finish(): unknown } {
  const list: unknown[] = [];
  const pairs: unknown[] = [];
  const record = {};
  const isRecord = kind === "Error" || (kind === "Object" && rest === null && typeOf(form) === undefined);
  const withRest = (items: unknown[]) => (rest === null ? items : [...items, rest]);
  return {
    add({ name }, parts) {
      if (isRecord) return [[record, name!]];
      if (name === null && kind !== "Map") return [[list, list.push(null) - 1]];
      const pair = [name, null];
      pairs.push(pair);
      const value: Slot = [pair, 1];
      return parts.length === 1 ? [value] : [[pair, 0], value];
    },
    finish() {
      if (kind === "List") return withRest(list);
      if (kind === "Array") return { ...form, value: withRest(list), properties: pairs };
      if (kind === "Error") return { $type: kind, value: record, ...(rest === null ? {} : { more: rest }) };
      return isRecord ? record : { $type: kind, value: withRest(kind === "Set" ? list : pairs) };
    },
  };
}
