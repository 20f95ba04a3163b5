/** Finds a pattern in the keys and values of a checkpoint. */

import {
  type Item,
  type Place,
  type Step,
  containerOf,
  itemsOf,
  placeOf,
  stepsTo,
  typeOf,
} from "../bridge/json-form/form.js";
import type { Found, Pattern } from "./search-pattern.js";
import type { Snippet } from "./search-views.js";

/** A key or a value that matches. */
export interface Match {
  path: Step[];
  /** True if only the key matches. */
  inKey: boolean;
  snippet: Snippet;
}

/** The number of shown characters before a match, in it and after it. */
const [BEFORE, MATCHED, AFTER] = [40, 120, 80];

/**
 * Yields the matches in a value, in document order. `form` is in the JSON form. `unread` is called for each value
 * without text, because its serializer is missing or the value is too large.
 */
export function* matchesIn(
  form: unknown,
  pattern: Pattern,
  prefix: readonly Step[],
  unread: (tag: string) => void,
): Generator<Match> {
  const root = placeOf(prefix);
  if (containerOf(form) === null) {
    const own = inLeaf(form, pattern, unread);
    if (own !== null) yield { path: stepsTo(root), inKey: false, snippet: own };
    return;
  }
  /** The open containers. Recursion would overflow the stack. */
  const open: Array<{ items: Iterator<Item>; place: Place | null }> = [];
  const enter = (value: unknown, place: Place | null): boolean => {
    const kind = containerOf(value);
    if (kind === null) return false;
    open.push({ items: itemsOf(value as object, kind), place });
    return true;
  };
  enter(form, root);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const next = top.items.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const item = next.value;
    const place = placeOf(item.steps, top.place);
    const isContainer = containerOf(item.value) !== null;
    const inValue = isContainer ? null : inLeaf(item.value, pattern, unread);
    const found = inValue ?? inText(item.name, pattern);
    if (found !== null) yield { path: stepsTo(place), inKey: inValue === null, snippet: found };
    if (isContainer) enter(item.value, place);
    if (item.key === undefined) continue;
    // A Map key that is not a text has the first place of its entry.
    const keyPlace = placeOf([item.step, 0], top.place);
    if (enter(item.key, keyPlace)) continue;
    const inKey = inLeaf(item.key, pattern, unread);
    if (inKey !== null) yield { path: stepsTo(keyPlace), inKey: true, snippet: inKey };
  }
}

function inText(text: string | null, pattern: Pattern): Snippet | null {
  if (text === null) return null;
  const found = pattern.find(text);
  return found && snippetOf(text, found);
}

function inLeaf(form: unknown, pattern: Pattern, unread: (tag: string) => void): Snippet | null {
  if (typeof form === "string") return inText(form, pattern);
  const type = typeOf(form);
  if (type === undefined) return inText(String(form), pattern);
  const { value, tag } = form as { value?: unknown; tag?: unknown };
  if (type === "Opaque") {
    unread(String(tag));
    return null;
  }
  // A reference's target is searched at its own place. Bytes are not text.
  if (type === "Ref" || type === "Bytes" || value === undefined || value === null) return null;
  if (type === "RegExp") return inText(String((value as { source?: unknown }).source), pattern);
  return inText(typeof value === "object" ? JSON.stringify(value) : String(value), pattern);
}

function snippetOf(text: string, { at, length }: Found): Snippet {
  const end = at + length;
  const shown = Math.min(end, at + MATCHED);
  const isCut = shown < end;
  return {
    before: (at > BEFORE ? "…" : "") + text.slice(Math.max(0, at - BEFORE), at).toWellFormed(),
    match: text.slice(at, shown).toWellFormed() + (isCut ? "…" : ""),
    after: isCut ? "" : text.slice(end, end + AFTER).toWellFormed() + (text.length > end + AFTER ? "…" : ""),
  };
}

/** Returns the name of a match: its place without indexes, and its text. List items may move between steps. */
export function nameOf(part: string, { path, inKey, snippet }: Match): string {
  const steps = path.map((step) => (typeof step === "number" ? 0 : step));
  return JSON.stringify([part, steps, inKey, snippet.before, snippet.match]);
}
