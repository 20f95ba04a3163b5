/** Reads and checks the parameters of a request. */

import { quote } from "../../ts/bridge/errors.js";
import { invalid } from "./refusal.js";
import type { RunRef } from "../../ts/plugin/views.js";

const isRef = (each: unknown) =>
  Array.isArray(each) &&
  typeof each[0] === "string" &&
  typeof each[1] === "string" &&
  (each[2] === null || typeof each[2] === "string");

export class Query {
  readonly #given: URLSearchParams;

  constructor(text: string) {
    this.#given = new URLSearchParams(text);
  }

  /** Returns a parameter. Null: it is missing. May be empty: `ns=` is the graph itself. */
  get(name: string): string | null {
    return this.#given.get(name);
  }

  /** Returns a filter. An empty one counts as missing. */
  filter(name: string): string | undefined {
    return this.#given.get(name) || undefined;
  }

  /** Returns a parameter, or throws if it is missing. */
  needed(name: string): string {
    const value = this.#given.get(name);
    if (value === null) throw invalid(`the parameter ${quote(name)} is missing`);
    return value;
  }

  /** Returns all values of a repeatable parameter. */
  list(name: string): string[] {
    return this.#given.getAll(name).filter((text) => text !== "");
  }

  /** Returns the labels that the parameter names, each as `key=value`. Undefined if it is missing. */
  labels(name: string): Record<string, string> | undefined {
    const all = this.#given.getAll(name).filter((text) => text !== "");
    const pairs = all.map((text): [string, string] => {
      const at = text.indexOf("=");
      if (at < 1) throw invalid(`the parameter ${quote(name)} must be key=value, but is ${quote(text)}`);
      return [text.slice(0, at), text.slice(at + 1)];
    });
    return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
  }

  /** Returns a whole number in a range, or undefined if it is missing. */
  whole(name: string, least: number, most: number): number | undefined {
    const text = this.filter(name);
    if (text === undefined) return undefined;
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw invalid(
      `the parameter ${quote(name)} must be a whole number from ${least} to ${most}, but is ${quote(text)}`,
    );
  }

  /** Returns a parameter that must be one of some words, or undefined if it is missing. */
  oneOf<T extends string>(name: string, words: readonly T[]): T | undefined {
    const value = this.filter(name) as T | undefined;
    if (value === undefined || words.includes(value)) return value;
    throw invalid(`the parameter ${quote(name)} must be ${words.join(", ")}, but is ${quote(value)}`);
  }

  /** Returns true for `1` and `true`, false for `0` and `false`, and the default if it is missing. */
  flag(name: string, otherwise: boolean): boolean {
    const word = this.oneOf(name, ["1", "true", "0", "false"]);
    return word === undefined ? otherwise : word === "1" || word === "true";
  }

  /** Returns the runs of the list `[[space, run, ns], …]`, or undefined if the parameter is missing. */
  refs(name: string): RunRef[] | undefined {
    const text = this.filter(name);
    if (text === undefined) return undefined;
    let list: unknown;
    try {
      list = JSON.parse(text);
    } catch {
      list = undefined;
    }
    if (!Array.isArray(list) || list.length > 100 || !list.every(isRef)) {
      throw invalid(`the parameter ${quote(name)} must be a JSON list of at most 100 runs, each [space, run, ns]`);
    }
    return list.map(([space, run, ns]) => ({ space, run, ns }));
  }

  /** Returns the run that `space`, `run` and `ns` name. */
  run(): RunRef {
    return { space: this.needed("space"), run: this.needed("run"), ns: this.get("ns") };
  }
}
