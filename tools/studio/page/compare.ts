// Compares a checkpoint with any other one, even in another run. The address names both.
import { signal } from "@preact/signals";
import type { CheckpointInfo, CheckpointRef, RunRef } from "./api.js";
import { count, shown } from "./format.js";
import { type Address, address, addressOfRun, change, go } from "./route.js";
import { news } from "./ui.js";

/** The checkpoint to which the user is choosing another one. Null: no choice is in progress. */
export const picking = signal<CheckpointInfo | null>(null);

/** The parameters of an address for a comparison with the parent. */
export const withoutVs = { vs: null, vsSpace: null, vsRun: null, vsNs: null };

export const sameRun = (a: RunRef, b: RunRef): boolean =>
  a.space === b.space && a.run === b.run && (a.ns ?? "") === (b.ns ?? "");

/** Returns the checkpoint to compare with, from an address. Null: the parent. */
export function vsOf(parameters: Record<string, string>): CheckpointRef | null {
  const { vs, space = "", run = "", ns = null, vsSpace = space, vsRun, vsNs = null } = parameters;
  if (vs === undefined) return null;
  return vsRun === undefined ? { space, run, ns, id: vs } : { space: vsSpace, run: vsRun, ns: vsNs, id: vs };
}

/** Returns the id of the checkpoint to compare with, if it is in the address's run. */
export const ownVs = ({ vs, vsRun }: Record<string, string>): string => (vsRun === undefined ? (vs ?? "") : "");

function addressOf(of: CheckpointRef, vs: CheckpointRef): Address {
  const { page, parameters } = addressOfRun(of, of.id);
  const next: Record<string, string> = { ...parameters, view: "diff", vs: vs.id };
  if (!sameRun(of, vs)) {
    Object.assign(next, { vsSpace: vs.space, vsRun: vs.run });
    if (vs.ns !== null && vs.ns !== undefined) next["vsNs"] = vs.ns;
  }
  return { page, parameters: next };
}

const isSame = (a: CheckpointRef, b: CheckpointRef): boolean => sameRun(a, b) && a.id === b.id;

/** Begins the choice. On a phone, the timeline replaces the checkpoint. */
export function beginPick(of: CheckpointInfo): void {
  picking.value = of;
  news.value = `Pick the step to compare step ${count(of.step)} with`;
  // The timeline's keys make the choice, wherever the focus was.
  document.querySelector<HTMLElement>("[data-testid=timeline]")?.focus();
  if (matchMedia("(max-width: 760px)").matches) change({ at: null, ...withoutVs });
}

export const canPick = (ref: CheckpointRef): boolean => picking.value !== null && !isSame(picking.value, ref);

/** Ends the choice, and compares with the chosen checkpoint. */
export function pick(ref: CheckpointRef): void {
  const of = picking.value;
  if (of === null || isSame(of, ref)) return;
  picking.value = null;
  go(addressOf(of, ref));
}

export function endPick(): void {
  picking.value = null;
  news.value = "Nothing is compared";
}

/** Swaps the two checkpoints. */
export function turn(of: CheckpointRef): void {
  const vs = vsOf(address.value.parameters);
  if (vs !== null) go(addressOf(vs, of));
}

/** Names a checkpoint: its step, its label, and its run unless that is `of`. */
export function nameOf({ step, label, ...ref }: CheckpointInfo, of: RunRef): string {
  const name = `step ${count(step)}${label ? ` ${shown(label, 60)}` : ""}`;
  return sameRun(ref, of) ? name : `${name} of ${shown(ref.run, 60)}`;
}
