// The address of the page, in the fragment of the URL: the name of the page, and its parameters.
import { effect, signal } from "@preact/signals";
import type { RunRef } from "./api.js";

export interface Address {
  page: string;
  parameters: Record<string, string>;
}

export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const page = at === -1 ? text : text.slice(0, at);
  const parameters: Record<string, string> = { __proto__: null } as never;
  if (at !== -1) for (const [name, value] of new URLSearchParams(text.slice(at + 1))) parameters[name] = value;
  return { page: page === "" ? "runs" : page, parameters };
}

export function formatAddress({ page, parameters }: Address): string {
  const query = new URLSearchParams(Object.entries(parameters)).toString();
  return `#/${page}${query === "" ? "" : `?${query}`}`;
}

/** The current address, which the address bar follows. */
export const address = signal<Address>(parseAddress(location.hash));

/** The time between two changes of the address bar, in ms. Browsers refuse more than about 20 a second. */
const PAUSE = 60;

let waiting: ReturnType<typeof setTimeout> | undefined;
let last = 0;

function write(): void {
  waiting = undefined;
  last = Date.now();
  try {
    history.replaceState(null, "", formatAddress(address.value));
  } catch {
    // Browsers refuse too many changes. The next navigation writes the address again.
  }
}

/** Goes to an address. `replace`: without a new entry in the history, for navigation by key. */
export function go(to: Address, replace = false): void {
  const same = formatAddress(to) === formatAddress(address.value);
  if (same) return;
  if (!replace) {
    if (waiting !== undefined) {
      clearTimeout(waiting);
      write();
    }
    address.value = to;
    history.pushState(null, "", formatAddress(to));
    return;
  }
  address.value = to;
  if (waiting !== undefined) return;
  const wait = last + PAUSE - Date.now();
  if (wait <= 0) write();
  else waiting = setTimeout(write, wait);
}

function follow(): void {
  clearTimeout(waiting);
  waiting = undefined;
  const now = parseAddress(location.hash);
  if (formatAddress(now) !== formatAddress(address.value)) address.value = now;
}

/** Follows the address bar: the Back button, links and typed addresses. */
export function followAddress(): void {
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
}

/** Changes some parameters of the address. Null removes one. */
export function change(parameters: Record<string, string | null>, replace = false): void {
  const next: Record<string, string> = { ...address.value.parameters };
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) delete next[name];
    else next[name] = value;
  }
  go({ page: address.value.page, parameters: next }, replace);
}

let lastRuns: Address = { page: "runs", parameters: {} };

effect(() => {
  if (address.value.page === "runs") lastRuns = address.value;
});

/** Returns the last address of the list of runs, including its filters. */
export const backToRuns = (): Address => lastRuns;

/** Returns the address of a run, or of one of its checkpoints. */
export function addressOfRun({ space, run, ns }: RunRef, id?: string): Address {
  const parameters: Record<string, string> = { space, run };
  if (ns !== null && ns !== undefined) parameters["ns"] = ns;
  if (id !== undefined) parameters["at"] = id;
  return { page: "run", parameters };
}

/** Returns the text of a link to a run. Everything stored in it is escaped. */
export const linkToRun = (ref: RunRef, id?: string): string => formatAddress(addressOfRun(ref, id));
