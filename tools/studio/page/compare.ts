// Compares a checkpoint with any other one, also of another run. The address names both.
import { signal } from "@preact/signals";
import type { CheckpointInfo, CheckpointRef, RunRef } from "./api.js";
import { count, shown } from "./format.js";
import { type Address, address, addressOfRun, change, go } from "./route.js";
import { news } from "./ui.js";

/** The checkpoint for which the user is picking another one. Null: the user is not picking. */
export const picking = signal<CheckpointInfo | null>(null);

/** The parameters of an address that compares with the parent. */
export const withoutVs = { vs: null, vsSpace: null, vsRun: null, vsNs: null };

export const sameRun = (a: RunRef, b: RunRef): boolean =>
  a.space === b.space && a.run === b.run && (a.ns ?? "") === (b.ns ?? "");

/** Returns the checkpoint that an address compares with. Null: the parent. */
export function vsOf(parameters: Record<string, string>): CheckpointRef | null {
  const { vs, space = "", run = "", ns = null, vsSpace = space, vsRun, vsNs = null } = parameters;
  if (vs === undefined) return null;
  return vsRun === undefined ? { space, run, ns, id: vs } : { space: vsSpace, run: vsRun, ns: vsNs, id: vs };
}

/** Returns the id of the checkpoint to compare with, if it belongs to the run of the address. */
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

/** Begins to pick. On a phone, the checkpoint gives way to the timeline. */
export function beginPick(of: CheckpointInfo): void {
  picking.value = of;
  news.value = `Pick the step to compare step ${count(of.step)} with`;
  // The keys of the timeline pick, wherever the focus was.
  document.querySelector<HTMLElement>("[data-testid=timeline]")?.focus();
  if (matchMedia("(max-width: 760px)").matches) change({ at: null, ...withoutVs });
}

export const canPick = (ref: CheckpointRef): boolean => picking.value !== null && !isSame(picking.value, ref);

/** Ends picking, and compares with the picked checkpoint. */
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

/** Compares in the other direction. */
export function turn(of: CheckpointRef): void {
  const vs = vsOf(address.value.parameters);
  if (vs !== null) go(addressOf(vs, of));
}

/** Names a checkpoint: its step, its label, and its run unless that is `of`. */
export function nameOf({ step, label, ...ref }: CheckpointInfo, of: RunRef): string {
  const name = `step ${count(step)}${label ? ` ${shown(label, 60)}` : ""}`;
  return sameRun(ref, of) ? name : `${name} of ${shown(ref.run, 60)}`;
}
