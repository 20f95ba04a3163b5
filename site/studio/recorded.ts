/** Runs before the page of the studio: answers its requests from the files of a recorded store. */

import { makeSource } from "../../tools/studio/embedded/source.js";
import type { Taken } from "../../tools/studio/taken.js";
import type { Question } from "../../ts/inspect/questions/views.js";
import type { RunInfo } from "../../ts/plugin/views.js";
import { type Parameters, listed, spacesOf } from "./list.js";

/** The file `runs/store.json`. */
interface Store {
  version: string;
  runs: Array<{ file: string; run: RunInfo; questions: Question[] }>;
}

/** What this uses of a browser. The other parts of the studio's code are compiled for Node. */
interface Browser {
  fetch(path: string): Promise<Response>;
  forkpointSource: unknown;
  Buffer: unknown;
}

const browser = globalThis as unknown as Browser;

// The limits of the answers count bytes as Node does.
const encoder = new TextEncoder();
browser.Buffer = { byteLength: (text: string) => encoder.encode(text).length };

const known = new Map<string, Promise<unknown>>();

/** Reads a file once. */
function read<T>(name: string): Promise<T> {
  let found = known.get(name);
  if (found === undefined) {
    found = browser.fetch(`runs/${name}`).then((response) => {
      if (response.ok) return response.json();
      known.delete(name);
      throw new Error(`the file ${name} can't be read: the server answered ${response.status}`);
    });
    known.set(name, found);
  }
  return found as Promise<T>;
}

/** Answers from the files of the runs that a request names. */
async function fromRuns({ version, runs }: Store, route: string, parameters: Parameters): Promise<Response> {
  const names = new Set([parameters["run"], parameters["toRun"], route === "runs" ? parameters["match"] : undefined]);
  const taken = await Promise.all(runs.filter(({ run }) => names.has(run.run)).map(({ file }) => read<Taken>(file)));
  const whole = { ...taken[0], version, runs: taken.flatMap((each) => each.runs) } as Taken;
  return makeSource(whole)(route, parameters);
}

const isNewest = (run: RunInfo, { id }: Parameters) => id === undefined || id === null || id === run.latest.id;

async function answer(store: Store, route: string, parameters: Parameters): Promise<unknown> {
  const { version, runs } = store;
  const all = runs.map(({ run }) => run);
  const own = runs.find(({ run }) => run.space === parameters["space"] && run.run === parameters["run"]);
  if (route === "info") return { version, target: "", backend: "file", write: false, spaces: spacesOf(all) };
  if (route === "runs" && !all.some(({ run }) => run === parameters["match"])) return listed(all, parameters);
  if (route === "questions" && own !== undefined)
    return { questions: isNewest(own.run, parameters) ? own.questions : [], more: 0 };
  const response = await fromRuns(store, route, parameters);
  if (route !== "run" || !response.ok) return response;
  const page = (await response.json()) as { run: RunInfo };
  const forks = all.filter(({ forkedFrom }) => forkedFrom?.space === page.run.space && forkedFrom.run === page.run.run);
  return { ...page, forks };
}

browser.forkpointSource = async (route: string, parameters: Parameters): Promise<Response> => {
  const found = await answer(await read<Store>("store.json"), route, parameters);
  return found instanceof Response ? found : new Response(JSON.stringify(found));
};
