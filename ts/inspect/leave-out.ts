/** Leaves values out of a copy of a run that others get, such as secrets. Uses nothing of Node. */

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

/** What stands in place of a value that was left out. `path` is the pattern. */
export interface LeftOut {
  $type: "LeftOut";
  value: string;
}

/**
 * Leaves out the values at some paths, wherever the paths occur in a value: `.apiKey` also leaves out `config.apiKey`. A path is
 * written as in `forkpoint get --path`, and `[*]` or `.*` stands for any index or key. The fields of a message that is stored as `{ lc: 1, kwargs }` count as
 * fields of the message, so `.messages[*].content` needs no `kwargs`.
 */
export class LeavingOut {
  readonly #patterns: Pattern[];
  readonly #counts: Map<string, number>;

  /** @throws ForkpointError `INVALID_ARGUMENT` for a wrong path. */
  constructor(paths: readonly string[]) {
    this.#patterns = paths.map((text) => ({ text, steps: stepsOf(text) }));
    this.#counts = new Map(paths.map((text) => [text, 0]));
  }

  /** How many values each path has left out so far. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Returns a value in its JSON form without what is left out. `at` has the names of the places that lead to it. */
  from(form: unknown, at: readonly string[] = []): unknown {
    if (this.#patterns.length === 0) return form;
    let reached = this.#begun();
    for (const step of at) {
      const { inner, full } = this.#after(reached, step);
      if (full !== null) return this.#mark(full);
      reached = inner;
    }
    // A path may lead through a reference to a value that is written out at another place. What it leaves out is cut there.
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

  /** Returns how far each pattern has come after a step, and a pattern that ends there. */
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
      // The fields of a message are a level deeper than they seem.
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

/** The places to which references lead, by their path, and how far patterns have come there. */
type Elsewhere = Map<string, Map<string, Reached>>;

function addElsewhere(elsewhere: Elsewhere, ref: object, each: Reached): void {
  const steps = stepsOfRef(ref);
  if (steps === null) return;
  // The size of the map tells whether something was added, so each pattern has an entry of its own.
  const [place, key] = [formatPath(steps), `${each.pattern.text} ${each.done}`];
  const known = elsewhere.get(place) ?? new Map<string, Reached>();
  if (known.has(key)) return;
  known.set(key, each);
  elsewhere.set(place, known);
  elsewhere.set(`\u0000${place} ${key}`, new Map());
}

/** A pattern, and how many of its steps lead to the place. */
interface Reached {
  pattern: Pattern;
  done: number;
}

/** Reads a path with stars. A range is no place that a value can be left out of. */
function stepsOf(text: string): Wanted[] {
  // The star is written as a key that no value has, because a path has no stars.
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

/** Returns true for a message, or another object, that is stored as the call of its constructor. */
function isConstructor(form: Record<string, unknown>): boolean {
  return !Array.isArray(form) && form["lc"] === 1 && isRecord(form["kwargs"]);
}

/** Returns a copy of a container with other values at some places. */
function replaced(form: Record<string, unknown>, kind: Container, changed: ReadonlyMap<number, unknown>): unknown {
  if (kind === "List")
    return (form as unknown as unknown[]).map((each, at) => (changed.has(at) ? changed.get(at) : each));
  const inPairs = (pairs: unknown[], from = 0) =>
    pairs.map((pair, at) => {
      if (!changed.has(from + at)) return pair;
      const next = changed.get(from + at);
      const [key] = pair as [unknown, unknown];
      // A key of a Map that is no text comes with its value.
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
