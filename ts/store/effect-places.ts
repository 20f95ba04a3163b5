/**
 * Which effect of a run is visible from a checkpoint. A run with branches may have several effects with the same key. A
 * branch that begins before an effect has an effect of its own, and a branch that begins after it shares its result.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { RunKey } from "../bridge/native.js";
import type { Exact } from "../bridge/wire.js";
import { type EffectAddress, type FoundEffect, type Joins, type StoredEffect, effectCalls } from "./effect-wire.js";
import type { Engine } from "./engine.js";

/** Where an effect is asked for: a run, and the checkpoint that it works from. */
export interface EffectPlace {
  of: RunKey;
  /** The id of the checkpoint. Undefined: the run has no branches, or the caller does not know it. */
  at?: string | undefined;
  /** The id of an ancestor, in case that `at` is not stored yet. Undefined: the newest checkpoint. */
  from?: string | undefined;
  /** True: `from` may not be the nearest ancestor, but `at` is about to be stored. */
  settles?: boolean;
  /**
   * Which effects are the ones of this call although the run has moved on since they were begun: the call only came late.
   * Undefined: none, because the caller asks for a branch at `at`.
   */
  joins?: Joins | undefined;
  /** True: the run has stored a checkpoint. If it has none when the effect is asked for, it was deleted while it ran. */
  stored?: boolean;
  /** The incarnation in which the run began. If it has another one now, it was deleted, and somebody has begun it again. */
  incarnation?: Exact | undefined;
  /** The effect begins when this has resolved: the answer that the run was resumed with is stored, or its first checkpoint. */
  ready?: Promise<unknown>;
}

/** Begins an effect at a place when the place is ready. What was stored in the meantime belongs to the place. */
export function whenReady<T>(place: () => EffectPlace, begin: (place: EffectPlace) => Promise<T>): Promise<T> {
  const found = place();
  return found.ready === undefined ? begin(found) : found.ready.then(() => begin(place()));
}

/** The place where an effect is stored, and what is stored there. */
export interface Slot extends FoundEffect {
  branch: number;
}

type Native = Engine["native"];

/** How often, and how long, to wait for a checkpoint that is being stored, in ms. */
const [LOOKS, LOOK_MS] = [20, 10];

/**
 * An effect that another call works on, and whose result a call waits for. The run may move on meanwhile: then the effect is no longer
 * visible from where the call was made, as if the caller had forked the run. It is the call's effect all the same.
 */
export interface Awaited {
  branch: number;
  /** Undefined: the other call was faster to begin one, from the same checkpoint. */
  idempotencyKey: string | undefined;
}

/** Finds the effect that is visible from a place, or the place where a new one is stored. If the effect that was waited for is still there, it is that one. */
export async function findSlot(native: Native, place: EffectPlace, key: string, awaited?: Awaited): Promise<Slot> {
  const { of, at } = place;
  if (awaited !== undefined) {
    const { branch, idempotencyKey } = awaited;
    const slot = { branch, ...(await findEffect(native, { of, key, branch })) };
    const { effect } = slot;
    const isIt = idempotencyKey === undefined ? effect?.base === at : effect?.idempotencyKey === idempotencyKey;
    if (effect !== null && isIt) return slot;
  }
  for (let branch = 0; ; branch++) {
    const slot = { branch, ...(await findEffect(native, { of, key, branch })) };
    const { effect, origin, more } = slot;
    if (at === undefined) {
      if (effect !== null && more) continue;
      return effect === null ? { ...slot, effect: await inherited(native, of, origin, key) } : slot;
    }
    if (effect === null || (await isVisible(native, effect, { ...place, at }))) return slot;
  }
}

/** Reads an effect with its result. */
export function findEffect(native: Native, effect: EffectAddress): Promise<FoundEffect> {
  return effectCalls.find(native, "find", { effect }, ({ effect: found, ...rest }, part) => ({
    ...rest,
    effect: found && { ...found, parts: found.parts.map(part) },
  }));
}

/** True if an effect has ended, so that others can share its result. */
export function hasResult({ state }: StoredEffect): boolean {
  return state === "done" || state === "error";
}

/** Returns true if an effect belongs to the past of a stored checkpoint: a fork of the checkpoint shares it. */
export async function isBefore(native: Native, effect: StoredEffect, of: RunKey, id: string): Promise<boolean> {
  const side = await sideOf(native, effect, { of, at: id });
  return side === "before" || side === "unknown";
}

/** Returns the effect with this key that the run shares with the run that it was forked from. */
async function inherited(
  native: Native,
  of: RunKey,
  origin: FoundEffect["origin"],
  key: string,
): Promise<FoundEffect["effect"]> {
  const seen = new Set([JSON.stringify(of)]);
  while (origin !== null) {
    const { id } = origin;
    const run = { space: of.space, run: origin.run, ns: origin.ns };
    if (seen.has(JSON.stringify(run))) return null;
    seen.add(JSON.stringify(run));
    for (let branch = 0; ; branch++) {
      const { effect, more, ...found } = await findEffect(native, { of: run, key, branch });
      if (effect !== null && hasResult(effect) && (await isBefore(native, effect, run, id))) return effect;
      origin = found.origin;
      if (!more) break;
    }
  }
  return null;
}

/**
 * The last checkpoint that has an effect in its past, by the idempotency key of the effect. The search for the effect ends
 * there, so asking again and again in a long run costs little.
 */
const lastSeen = new Map<string, string>();
const MOST_SEEN = 1_000;

/** Returns true unless the effect belongs to another branch of the run. */
async function isVisible(native: Native, effect: StoredEffect, place: EffectPlace & { at: string }): Promise<boolean> {
  const { idempotencyKey } = effect;
  const { of, at, from } = place;
  const seen = lastSeen.get(idempotencyKey);
  if (seen === at) return true;
  let side = "beside";
  if (seen !== undefined) {
    const fields = { of, base: seen, newest: undefined, at, from, past: true, joins: undefined };
    const found = await effectCalls.call(native, "place", fields);
    if (found.stored) side = found.at;
  }
  if (side !== "before") side = await sideOf(native, effect, place);
  if (side === "before") {
    lastSeen.delete(idempotencyKey);
    lastSeen.set(idempotencyKey, at);
    if (lastSeen.size > MOST_SEEN) lastSeen.delete(lastSeen.keys().next().value!);
  }
  return side !== "beside";
}

/** Where an effect is, as seen from a checkpoint. */
async function sideOf(
  native: Native,
  { base, from, newest }: StoredEffect,
  { of, at, from: ancestor, settles = false, joins }: EffectPlace & { at: string },
): Promise<"here" | "before" | "beside" | "unknown"> {
  const look = (begin: string | null) =>
    begin === null
      ? undefined
      : effectCalls.call(native, "place", {
          of,
          base: begin,
          newest: newest ?? undefined,
          at,
          from: ancestor,
          past: false,
          joins,
        });
  for (let looks = 1; ; looks++) {
    let place = await look(base);
    // The checkpoint from which the effect was begun was never stored. The effect follows an earlier one.
    if (place?.at === "unknown") place = await look(from ?? newest);
    if (place === undefined) return "unknown";
    if (settles && !place.stored && place.at !== "unknown" && looks < LOOKS) {
      await delay(LOOK_MS);
      continue;
    }
    if (place.at !== "left") return place.at;
    // An ancestor that was removed hides what was before it.
    return (await isStored(native, of, place.parent)) ? "beside" : "unknown";
  }
}

async function isStored(native: Native, of: RunKey, id: string | null): Promise<boolean> {
  if (id === null) return false;
  const fields = { of, base: id, newest: undefined, at: id, from: undefined, past: true, joins: undefined };
  return (await effectCalls.call(native, "place", fields)).stored;
}
