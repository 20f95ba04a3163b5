/**
 * Determines which effect of a run is visible from a checkpoint. A run with branches may have several effects with the
 * same key. A branch that begins before an effect has its own effect. A branch that begins after it shares its result.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { RunKey } from "../bridge/native.js";
import type { Exact } from "../bridge/wire.js";
import { type FoundEffect, type Joins, type StoredEffect, effectCalls, findEffect } from "./effect-wire.js";
import type { Engine } from "./engine.js";
import type { RunEffects } from "./run-effects.js";

/** The place of a call for an effect: a run, and the checkpoint that the call works from. */
export interface EffectPlace {
  of: RunKey;
  /** The id of the checkpoint. Undefined: the run has no branches, or the caller does not know the id. */
  at?: string | undefined;
  /** The id of an ancestor, in case `at` is not stored yet. Undefined: the newest checkpoint. */
  from?: string | undefined;
  /** True: `at` is about to be stored, and `from` may not be its nearest ancestor. */
  settles?: boolean;
  /**
   * Selects effects that belong to this call although the run has moved on since they began: the call was only late.
   * Undefined: none, because the caller asks for a branch at `at`.
   */
  joins?: Joins | undefined;
  /** True: the run had stored a checkpoint. If it has none when the effect begins, it was deleted. */
  stored?: boolean;
  /** The incarnation in which the run began. If it has changed, the run was deleted and begun again. */
  incarnation?: Exact | undefined;
  /** The earlier effects of a run that has stored no checkpoint. If they are gone, the run was deleted. */
  earlier?: RunEffects | undefined;
  /** The effect begins after this promise, which resolves when the run's answer or first checkpoint is stored. */
  ready?: Promise<unknown>;
}

/** A place for an effect, and the effect that is stored there. */
export interface Slot extends FoundEffect {
  branch: number;
}

type Native = Engine["native"];

/** The number of times to look for a checkpoint that is being stored, and the pause between them in ms. */
const [LOOKS, LOOK_MS] = [20, 10];

/**
 * An effect of another call, whose result this call waits for. If the run moves on, the effect is no longer visible
 * from this call's place, as if the caller had forked the run. It still belongs to this call.
 */
export interface Awaited {
  branch: number;
  /** Undefined: the other call began an effect from the same checkpoint first. */
  idempotencyKey: string | undefined;
}

/** Finds the effect that is visible from a place, or a place for a new one. Prefers the awaited effect. */
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

/** True if an effect has ended, so that other calls can share its result. */
export function hasResult({ state }: StoredEffect): boolean {
  return state === "done" || state === "error";
}

/** Returns true if an effect is before a stored checkpoint. A fork of the checkpoint then shares the effect. */
export async function isBefore(native: Native, effect: StoredEffect, of: RunKey, id: string): Promise<boolean> {
  const side = await sideOf(native, effect, { of, at: id });
  return side === "before" || side === "unknown";
}

/** Returns the effect with this key that the run inherits from the run that it was forked from. */
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
 * The last checkpoint after an effect, by the effect's idempotency key and number. Searches for the effect stop there, which makes
 * repeated searches in a long run cheap.
 */
const lastSeen = new Map<string, string>();
const MOST_SEEN = 1_000;

/** Returns true unless the effect belongs to another branch of the run. */
async function isVisible(native: Native, effect: StoredEffect, place: EffectPlace & { at: string }): Promise<boolean> {
  const { of, at, from } = place;
  const name = `${effect.idempotencyKey} ${effect.branch}`;
  const seen = lastSeen.get(name);
  if (seen === at) return true;
  let side = "beside";
  if (seen !== undefined) {
    const fields = { of, base: seen, newest: undefined, at, from, past: true, joins: undefined };
    const found = await effectCalls.call(native, "place", fields);
    if (found.stored) side = found.at;
  }
  if (side !== "before") side = await sideOf(native, effect, place);
  if (side === "before") {
    lastSeen.delete(name);
    lastSeen.set(name, at);
    if (lastSeen.size > MOST_SEEN) lastSeen.delete(lastSeen.keys().next().value!);
  }
  return side !== "beside";
}

/** The position of an effect relative to a checkpoint. */
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
    // The checkpoint that the effect began from was never stored. The effect follows an earlier one.
    if (place?.at === "unknown") place = await look(from ?? newest);
    if (place === undefined) return "unknown";
    if (settles && !place.stored && place.at !== "unknown" && looks < LOOKS) {
      await delay(LOOK_MS);
      continue;
    }
    if (place.at !== "left") return place.at;
    // A removed ancestor hides everything before it.
    return (await isStored(native, of, place.parent)) ? "beside" : "unknown";
  }
}

async function isStored(native: Native, of: RunKey, id: string | null): Promise<boolean> {
  if (id === null) return false;
  const fields = { of, base: id, newest: undefined, at: id, from: undefined, past: true, joins: undefined };
  return (await effectCalls.call(native, "place", fields)).stored;
}
