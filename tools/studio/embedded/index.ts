/** Runs in an exported HTML file, before the page: gives the page the data of the file in place of the studio's server. */

import { unpack, type Taken } from "../taken.js";
import { makeSource } from "./source.js";

/** What this uses of a browser. The other parts of the studio's code are compiled for Node. */
interface Browser {
  document: { getElementById(id: string): { textContent: string; remove(): void } };
  location: { hash: string };
  history: { replaceState(state: null, unused: string, url: string): void };
  forkpointSource: unknown;
  Buffer: unknown;
}

const browser = globalThis as unknown as Browser;

// The limits of the answers count bytes as Node does.
const encoder = new TextEncoder();
browser.Buffer = { byteLength: (text: string) => encoder.encode(text).length };

const element = browser.document.getElementById("taken");
const taken = unpack(JSON.parse(element.textContent) as Parameters<typeof unpack>[0]) as Taken;
element.remove();
browser.forkpointSource = makeSource(taken);

// The file shows its run, unless the address names another place.
if (browser.location.hash === "") {
  const { space, run, ns } = taken.runs[0]!.run;
  const query = new URLSearchParams({ space, run, ...(ns !== null && { ns }) });
  browser.history.replaceState(null, "", `#/run?${query.toString()}`);
}
