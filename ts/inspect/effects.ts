/** The effects of a run: lists them, reads results, and settles unknown outcomes by hand. See `forkpoint/effects`. */

import { ForkpointError, quote, typeError } from "../bridge/errors.js";
import { detachBuffers } from "../bridge/detach.js";
import { fromJsonForm, shownForm } from "../bridge/json-form/to-json-form.js";
import { Attempt, type Running } from "../store/effect-attempt.js";
import { type FoundEffect, effectCalls, findEffect } from "../store/effect-wire.js";
import { shownEffect } from "../store/effects.js";
import { requireId } from "../store/ids.js";
import { holdersOf } from "../store/lease.js";
import { whole } from "../store/options.js";
import { type Context, effectsOf, readKey, refOf } from "./context.js";
import { readValue } from "../plugin/values.js";
import type { Key } from "../plugin/wire.js";
import type { EffectDetail, EffectInfo } from "../plugin/views.js";

/** Names an effect. Without a branch: all effects with this key. */
interface Named {
  of: Key;
  key: string;
  branch: number | undefined;
}

const branchOption = whole(0, 2 ** 32 - 1, "a branch");

function readNamed(ref: unknown): Named {
  const of = readKey(ref);
  const { key, branch } = ref as { key?: unknown; branch?: unknown };
  return { of, key: requireId(key, "key"), branch: branch === undefined ? undefined : branchOption(branch, "branch") };
}

/** Lists the effects of a run, the first begun first. */
export async function listEffects({ engine }: Context, of: Key): Promise<EffectInfo[]> {
  if (effectsOf(of.space) === undefined) return [];
  const { now, effects } = await effectCalls.call(engine.native, "list", { of });
  const shown = effects
    .toReversed()
    .map((effect): EffectInfo => Object.assign(shownEffect(effect, now), refOf(of), { branch: effect.branch }));
  return shown.toSorted((a, b) => a.startedAt - b.startedAt);
}

/** Lists the named effects. */
async function named(context: Context, { of, key, branch }: Named): Promise<EffectInfo[]> {
  const all = await listEffects(context, of);
  return all.filter((effect) => effect.key === key && (branch === undefined || effect.branch === branch));
}

/** Reads an effect with its result: the last begun with this key. */
export async function readEffect(context: Context, ref: unknown): Promise<EffectDetail | null> {
  const last = (await named(context, readNamed(ref))).at(-1);
  if (last === undefined) return null;
  const { now, effect } = await slotOf(context, last);
  if (effect === null) return null;
  const info = { ...shownEffect(effect, now), ...refOf(last), branch: last.branch };
  const [stored] = effect.parts;
  if (stored === undefined) return { effect: info, result: null, part: null };
  const { value, readable } = readValue(context, stored);
  const isWrapped = readable && typeof value === "object" && value !== null && "result" in value;
  const result = shownForm(isWrapped ? value.result : value);
  const part = { name: "result", tag: stored.tag, bytes: stored.bytes.byteLength, readable };
  detachBuffers(stored);
  return { effect: info, result, part };
}

function slotOf({ engine }: Context, { space, run, ns, key, branch }: EffectInfo): Promise<FoundEffect> {
  return findEffect(engine.native, { of: { space, run, ns: ns ?? "" }, key, branch });
}

/** Forgets the named effects, so that the next call runs them again. */
export async function forgetEffects(context: Context, ref: unknown): Promise<{ forgotten: number }> {
  const given = readNamed(ref);
  const effects = await settleable(context, given);
  for (const effect of effects) {
    // No other process can begin a claimed effect, so it can be removed.
    if (!isSettled(effect)) await claim(context, effect);
  }
  const addresses = effects.map(({ key, branch }) => ({ of: given.of, key, branch }));
  await effectCalls.call(context.engine.native, "remove", { effects: addresses });
  return { forgotten: effects.length };
}

/** Stores a result for an effect without one: the last begun with this key. */
export async function settleEffect(context: Context, ref: unknown, form: unknown): Promise<EffectInfo> {
  if (form === undefined) throw typeError("result is missing: pass the JSON form of the result, such as null");
  const given = readNamed(ref);
  const result = fromJsonForm(form);
  const open = (await settleable(context, given)).findLast((effect) => !isSettled(effect));
  if (open === undefined) {
    throw new ForkpointError("CONFLICT", `${nameOf(given)} already has a result: forget it to run it again`);
  }
  const ended = await (await claim(context, open)).run(() => result);
  if (!ended.stored) throw taken(given);
  return (await named(context, { ...given, branch: open.branch })).at(-1) ?? open;
}

const isSettled = ({ state }: EffectInfo): boolean => state === "done" || state === "error";

/** Returns the named effects. Throws if there are none, or if a process works on one of them or on the run. */
async function settleable(context: Context, given: Named): Promise<EffectInfo[]> {
  const effects = await named(context, given);
  const { space, run } = given.of;
  if (effects.length === 0) {
    throw new ForkpointError("NOT_FOUND", `run ${quote(run)} has no effect ${quote(given.key)}: list its effects`);
  }
  const running = effects.find(({ state }) => state === "running");
  if (running !== undefined) {
    throw new ForkpointError("CONFLICT", `${nameOf(given)} is running in ${running.holder}: wait until it ends`);
  }
  const [lease] = await holdersOf(context.engine.native, space, [run]);
  if (lease) {
    const until = new Date(lease.until).toISOString();
    const message = `run ${quote(run)} is leased by ${lease.holder} until ${until}: wait until it ends, or stop it`;
    throw new ForkpointError("CONFLICT", message);
  }
  return effects;
}

/** Claims an effect, so that no other process begins it. */
async function claim(context: Context, info: EffectInfo): Promise<Attempt> {
  const slot = await slotOf(context, info);
  const of = { space: info.space, run: info.run, ns: info.ns ?? "" };
  const address = { of, key: info.key, branch: info.branch };
  if (slot.effect?.attempts !== info.attempts) throw taken(address);
  const handle: Running = { identity: undefined, run: (work) => work(context.engine) };
  const attempt = new Attempt(handle, () => null, address, {});
  await attempt.begin({ ...slot, branch: info.branch }, { of });
  return attempt;
}

const nameOf = ({ of, key }: Pick<Named, "of" | "key">) => `the effect ${quote(key)} of run ${quote(of.run)}`;

function taken(of: Pick<Named, "of" | "key">): ForkpointError {
  return new ForkpointError("CONFLICT", `${nameOf(of)} was begun by another process: look at it again`);
}
