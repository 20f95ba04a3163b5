/** A wrapper around any object with asynchronous methods. Its calls fail, wait or kill the process on purpose. */

import { setTimeout as sleep } from "node:timers/promises";
import { types } from "node:util";
import { ForkpointError, quote, show, typeError } from "../bridge/errors.js";
import type { EffectCall } from "../store/effect-attempt.js";
import type { StoreHandle } from "../store/handle.js";
import { handleOf, setHandle } from "../store/handle-of.js";
import { hint } from "../store/options.js";
import { type FaultRule, readFaults, type Fault, type AsyncMethod } from "./fault.js";
import { listed } from "./report.js";
import { faultsOfRunner, recordInRunner } from "./runner-link.js";

interface Counter {
  rule: FaultRule;
  calls: number;
}

/** The faults of one call. */
interface Disturbance {
  /** The call's name and number, for messages: `call 3 of put()`. */
  place: string;
  killBefore: boolean;
  killAfter: boolean;
  /** The error of a call that was not carried out. */
  errorBefore: Error | undefined;
  /** The error of a call that succeeded. */
  errorAfter: Error | undefined;
  delayMs: number;
}

type Method = (...args: unknown[]) => unknown;

/**
 * Wraps a store, so that some of its calls fail, wait or kill the process on purpose. Everything else works as before.
 * The wrapper has the type of the store, and is an instance of the framework's classes that the store's class extends.
 *
 * @param store any object with asynchronous methods.
 * @param faults the rules. In `on`, `"beginEffect"` and `"endEffect"` are the two writes of an effect: its claim before
 *   the function, and its end after it. Without rules, the wrapper follows the rules of the {@link killAndResume} or
 *   {@link killEverywhere} that started this process. In any other process, nothing fails.
 * @throws TypeError or RangeError for a wrong rule, or for a method that the store does not have.
 *
 * @example
 * ```ts
 * const flaky = withFaults(new CheckpointStore("memory:"), [
 *   { on: "save", nth: 3, reject: "BUSY" },
 *   { on: ["get", "load", "latest"], delayMs: 50 },
 * ]);
 * ```
 */
export function withFaults<T extends object>(store: T, faults?: ReadonlyArray<Fault<AsyncMethod<T> | EffectCall>>): T {
  if ((typeof store !== "object" && typeof store !== "function") || store === null) {
    throw typeError(`the first argument must be an object with methods, but is ${show(store)}`);
  }
  const rules = faults === undefined ? faultsOfRunner() : readFaults(faults);
  const counters = rules.map((rule) => ({ rule, calls: 0 }));
  const handle = handleOf(store);
  for (const { rule } of counters) {
    for (const name of rule.on) if (handle === undefined || !isEffectCall(name)) requireMethod(store, name);
  }
  if (faults === undefined) recordInRunner("wrapped");

  /** The methods of the wrapper, so that a method is the same function every time it is read. */
  const wrapped = new Map<string | symbol, { method: Method; made: Method }>();
  const methodFor = (name: string | symbol, method: Method): Method => {
    const known = wrapped.get(name);
    if (known?.method === method) return known.made;
    const own = counters.filter(({ rule }) => rule.on.includes(name as string));
    // The method runs on the store itself, because the wrapper has no private members.
    const made = new Proxy(method, { apply: (_method, _self, args) => call(name, method, store, args, own) });
    wrapped.set(name, { method, made });
    return made;
  };
  const wrapper = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || key === "constructor" || isFixed(target, key)) return value;
      return methodFor(key, value as Method);
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
    // The wrapper is an instance of the classes that the store's class extends, because a framework may check that. It
    // is not an instance of the store's own class, whose code would use private members that the wrapper lacks.
    getPrototypeOf: (target) => parentOf(Reflect.getPrototypeOf(target)),
  });
  // Register the store's handle for the wrapper, so that `recover` accepts the wrapper.
  if (handle !== undefined) {
    setHandle(wrapper, handle);
    disturbEffects(handle, counters);
  }
  return wrapper;
}

const isEffectCall = (name: string): name is EffectCall => name === "beginEffect" || name === "endEffect";

/** Applies the faults to a store's effects, which are not methods. */
function disturbEffects(handle: StoreHandle, counters: Counter[]): void {
  if (!counters.some(({ rule }) => rule.on.some(isEffectCall))) return;
  const before = handle.disturb;
  handle.disturb = <R>(name: EffectCall, run: () => Promise<R>) => {
    const own = counters.filter(({ rule }) => rule.on.includes(name));
    const inner = before === undefined ? run : () => before(name, run);
    return call(name, inner, handle, [], own) as Promise<R>;
  };
}

function parentOf(prototype: object | null): object | null {
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return prototype;
  return Object.getPrototypeOf(prototype) as object;
}

/** Returns true if a proxy must return the property unchanged. */
function isFixed(target: object, key: string | symbol): boolean {
  const own = Reflect.getOwnPropertyDescriptor(target, key);
  return own !== undefined && own.configurable === false && own.writable === false;
}

function requireMethod(store: object, name: string): void {
  if (typeof Reflect.get(store, name, store) !== "function") {
    const names = methodsOf(store);
    throw typeError(`The object has no method ${quote(name)}.${hint(name, names)} Its methods: ${names.join(", ")}`);
  }
  if (isFixed(store, name)) throw typeError(`The method ${quote(name)} of a frozen object cannot be wrapped`);
}

function methodsOf(store: object): string[] {
  const names = new Set<string>();
  for (let at: object | null = store; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === "function" && name !== "constructor") names.add(name);
    }
  }
  return [...names];
}

function call(name: string | symbol, method: Method, store: object, args: unknown[], counters: Counter[]): unknown {
  const run = () => Reflect.apply(method, store, args) as unknown;
  const hit = disturbanceOf(counters);
  if (hit === undefined) return run();
  if (hit.killBefore) killThisProcess(`before ${hit.place}`);
  // A generator method runs no code before its first item is read.
  if (types.isGeneratorFunction(method)) return items(run as () => AsyncIterable<unknown>, hit);
  if (hit.errorBefore !== undefined) return settled(Promise.reject(hit.errorBefore), hit);
  const result = run();
  if (isObject(result) && Symbol.asyncIterator in result) return items(() => result as AsyncIterable<unknown>, hit);
  if (isObject(result) && typeof (result as { then?: unknown }).then === "function") {
    return settled(result as PromiseLike<unknown>, hit);
  }
  throw typeError(`${String(name)}() returned no promise, so a fault cannot apply to it`);
}

/** Counts a call. Returns its faults, or undefined if no rule applies. */
function disturbanceOf(counters: Counter[]): Disturbance | undefined {
  let hit: Disturbance | undefined;
  for (const counter of counters) {
    counter.calls += 1;
    const { on, nth, when, error, delayMs = 0, kill } = counter.rule;
    if (nth !== undefined && !nth.includes(counter.calls)) continue;
    const place = `call ${counter.calls} of ${listed(on)}`;
    hit ??= { place, killBefore: false, killAfter: false, errorBefore: undefined, errorAfter: undefined, delayMs: 0 };
    hit.delayMs += delayMs;
    if (kill) hit[when === "before" ? "killBefore" : "killAfter"] = true;
    if (error) hit[when === "before" ? "errorBefore" : "errorAfter"] ??= error(place);
  }
  return hit;
}

/** Settles like the call, but later, or with the rule's error. */
async function settled(outcome: PromiseLike<unknown>, hit: Disturbance): Promise<unknown> {
  const [result] = await Promise.allSettled([outcome, sleep(hit.delayMs)]);
  if (result.status === "rejected") throw result.reason;
  finish(hit);
  return result.value;
}

async function* items(run: () => AsyncIterable<unknown>, hit: Disturbance): AsyncGenerator<unknown> {
  await sleep(hit.delayMs);
  if (hit.errorBefore !== undefined) throw hit.errorBefore;
  yield* run();
  finish(hit);
}

/** Applies the faults that follow a successful call: a kill or an error. */
function finish(hit: Disturbance): void {
  if (hit.killAfter) killThisProcess(`after ${hit.place}`);
  if (hit.errorAfter !== undefined) throw hit.errorAfter;
}

function killThisProcess(place: string): never {
  recordInRunner(`killed ${place}`);
  process.kill(process.pid, "SIGKILL");
  // The signal may take a moment to arrive. Block this thread until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new ForkpointError("UNAVAILABLE", "the process could not be killed");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
