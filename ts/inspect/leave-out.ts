/** Leaves values, such as secrets, out of a copy of a run for other people. Uses nothing of Node. */

import { ForkpointError } from "../bridge/forkpoint-error.js";
import { type Container, type Step, containerOf, isRecord, itemsOf, setKey, typeOf } from "../bridge/json-form/form.js";
import { formatPath, parsePath, stepsOfRef } from "../bridge/json-form/path.js";
import { safeJson } from "../bridge/json-form/json-text.js";

/** A step of a pattern: a key, an index, or any key or index. */
type Wanted = string | number | null;

interface Pattern {
  text: string;
  steps: Wanted[];
}

/** The replacement of a value that was left out. `path` is the pattern. */
export interface LeftOut {
  $type: "LeftOut";
  value: string;
}

/**
 * Leaves out the values at some paths, wherever the paths occur: `.apiKey` also leaves out `config.apiKey`. A path has
 * the form of `forkpoint get --path`. `[*]` or `.*` stands for any index or key. The fields of a message stored as `{
 * lc: 1, kwargs }` count as the message's fields, so `.messages[*].content` needs no `kwargs`.
 */
export class LeavingOut {
  readonly #patterns: Pattern[];
  readonly #counts: Map<string, number>;

  /** @throws ForkpointError `INVALID_ARGUMENT` for a wrong path. */
  constructor(paths: readonly string[]) {
    this.#patterns = paths.map((text) => ({ text, steps: stepsOf(text) }));
    this.#counts = new Map(paths.map((text) => [text, 0]));
  }

  /** The number of values that each path has left out so far. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Returns a value in its JSON form without the values at the paths. `at` has the names of the steps to the value. */
  from(form: unknown, at: readonly string[] = []): unknown {
    if (this.#patterns.length === 0) return form;
    let reached = this.#begun();
    for (const step of at) {
      const { inner, full } = this.#after(reached, step);
      if (full !== null) return this.#mark(full);
      reached = inner;
    }
    // A path may lead through a reference to a value at another place. The value is then left out at that place.
    const elsewhere: Elsewhere = new Map();
    for (;;) {
      const known = elsewhere.size;
      const before = new Map(this.#counts);
      const cut = this.#cut(form, reached, [], elsewhere);
      if (elsewhere.size === known) return cut;
      for (const [text, count] of before) this.#counts.set(text, count);
    }
  }

  #begun(): Reached[] {
    return this.#patterns.map((pattern) => ({ pattern, done: 0 }));
  }

  #mark({ text }: Pattern): LeftOut {
    this.#counts.set(text, this.#counts.get(text)! + 1);
    return { $type: "LeftOut", value: text };
  }

  /** Returns the progress of each pattern after a step, and a pattern that ends there. */
  #after(reached: readonly Reached[], step: string | number): { inner: Reached[]; full: Pattern | null } {
    const inner = this.#begun();
    for (const { pattern, done } of reached) {
      const wanted = pattern.steps[done];
      if (wanted !== null && String(wanted) !== String(step)) continue;
      if (done + 1 === pattern.steps.length) return { inner, full: pattern };
      inner.push({ pattern, done: done + 1 });
    }
    return { inner, full: null };
  }

  #cut(form: unknown, given: readonly Reached[], path: readonly Step[], elsewhere: Elsewhere): unknown {
    if (typeof form !== "object" || form === null) return form;
    const reached = [...given, ...(elsewhere.size === 0 ? [] : (elsewhere.get(formatPath(path))?.values() ?? []))];
    if (typeOf(form) === "Ref") {
      for (const each of reached) if (each.done > 0) addElsewhere(elsewhere, form, each);
      return form;
    }
    const kind = containerOf(form);
    if (kind === null) return form;
    const whole = form as Record<string, unknown>;
    const isMessage = isConstructor(whole);
    const changed = new Map<number, unknown>();
    let number = 0;
    for (const { step, steps, name, key, value } of itemsOf(whole, kind)) {
      const at = number++;
      const { inner, full } = this.#after(reached, name ?? step);
      // The fields of a message are one level deeper than in a path.
      const all = isMessage && step === "kwargs" ? [...inner, ...reached] : inner;
      const own = full === null ? this.#cut(value, all, [...path, ...steps], elsewhere) : this.#mark(full);
      if (key === undefined) {
        if (own !== value) changed.set(at, own);
        continue;
      }
      const ownKey = this.#cut(key, inner, [...path, step, 0], elsewhere);
      if (ownKey !== key || own !== value) changed.set(at, [ownKey, own]);
    }
    return changed.size === 0 ? form : replaced(whole, kind, changed);
  }
}

/** The targets of references, by path, and the progress of the patterns there. */
type Elsewhere = Map<string, Map<string, Reached>>;

function addElsewhere(elsewhere: Elsewhere, ref: object, each: Reached): void {
  const steps = stepsOfRef(ref);
  if (steps === null) return;
  // The size of the map shows whether an entry was added, so each pattern has its own entry.
  const [place, key] = [formatPath(steps), `${each.pattern.text} ${each.done}`];
  const known = elsewhere.get(place) ?? new Map<string, Reached>();
  if (known.has(key)) return;
  known.set(key, each);
  elsewhere.set(place, known);
  elsewhere.set(`\u0000${place} ${key}`, new Map());
}

/** A pattern, and the number of its steps that lead to the place. */
interface Reached {
  pattern: Pattern;
  done: number;
}

/** Reads a path with stars. Ranges are not allowed. */
function stepsOf(text: string): Wanted[] {
  // Paths have no stars, so a star is written as a key that no value has.
  const star = "\u0000*";
  const written = text.replace(/\[\*\]/g, `[${JSON.stringify(star)}]`).replace(/(^|\.)\*(?=$|[.[])/g, `$1${star}`);
  const steps = parsePath(written).map((step): Wanted => {
    if (typeof step !== "object" && (typeof step === "string" || step >= 0)) return step === star ? null : step;
    throw wrong(text, "it must have no ranges and no negative indexes: use [*] for all");
  });
  if (steps.length === 0 || steps.at(-1) === null) throw wrong(text, "its last step must be a key or an index");
  return steps;
}

function wrong(text: string, why: string): ForkpointError {
  return new ForkpointError("INVALID_ARGUMENT", `the path ${safeJson(text)} can't be left out: ${why}`);
}

/** Returns true for a message or another object that is stored as its constructor's call. */
function isConstructor(form: Record<string, unknown>): boolean {
  return !Array.isArray(form) && form["lc"] === 1 && isRecord(form["kwargs"]);
}

/** Returns a copy of a container with changed values at some places. */
function replaced(form: Record<string, unknown>, kind: Container, changed: ReadonlyMap<number, unknown>): unknown {
  if (kind === "List")
    return (form as unknown as unknown[]).map((each, at) => (changed.has(at) ? changed.get(at) : each));
  const inPairs = (pairs: unknown[], from = 0) =>
    pairs.map((pair, at) => {
      if (!changed.has(from + at)) return pair;
      const next = changed.get(from + at);
      const [key] = pair as [unknown, unknown];
      // A Map entry whose key is not a text contains the key.
      return typeof key === "string" ? [key, next] : next;
    });
  const { value } = form as { value: unknown[] };
  if (kind === "Object" && !Object.hasOwn(form, "$type")) return recordWith(form, changed);
  if (kind === "Error") return { ...form, value: recordWith(form["value"] as Record<string, unknown>, changed) };
  if (kind === "Set") return { ...form, value: value.map((each, at) => (changed.has(at) ? changed.get(at) : each)) };
  if (kind !== "Array") return { ...form, value: inPairs(value) };
  const items = value.map((each, at) => (changed.has(at) ? changed.get(at) : each));
  return { ...form, value: items, properties: inPairs(form["properties"] as unknown[], value.length) };
}

function recordWith(form: Record<string, unknown>, changed: ReadonlyMap<number, unknown>): Record<string, unknown> {
  const made = {};
  for (const [at, [key, value]] of Object.entries(form).entries()) {
    setKey(made, key, changed.has(at) ? changed.get(at) : value);
  }
  return made;
}
