/** Runs before the page in an exported HTML file: gives the page the file's data in place of a server. */

import { unpack, type Taken } from "../taken.js";
import { makeSource } from "./source.js";

/** The browser's functions for this file. Other code of the studio is compiled for Node. */
interface Browser {
  document: { getElementById(id: string): { textContent: string; remove(): void } };
  location: { hash: string };
  history: { replaceState(state: null, unused: string, url: string): void };
  forkpointSource: unknown;
  Buffer: unknown;
}

const browser = globalThis as unknown as Browser;

// The limits of answers count bytes like Node does.
const encoder = new TextEncoder();
browser.Buffer = { byteLength: (text: string) => encoder.encode(text).length };

const element = browser.document.getElementById("taken");
const taken = unpack(JSON.parse(element.textContent) as Parameters<typeof unpack>[0]) as Taken;
element.remove();
browser.forkpointSource = makeSource(taken);

// The file shows its run, unless the address names another page.
if (browser.location.hash === "") {
  const { space, run, ns } = taken.runs[0]!.run;
  const query = new URLSearchParams({ space, run, ...(ns !== null && { ns }) });
  browser.history.replaceState(null, "", `#/run?${query.toString()}`);
}
