/** Processes that make calls in scopes: the one of the test, and others. See fixtures/calls.mjs. */

import { EventEmitter, once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Program } from "./faults/faults.js";
import { type Kind, folder, kinds, sharedKinds } from "./helpers.js";

export const policies = ["reject", "enqueue", "interrupt", "rollback"] as const;
export type Policy = (typeof policies)[number];

/** The options of a second call. */
export const newer = (whenBusy: string) => ({ whenBusy, by: "Ana", reason: "newer" });

/** How a call has ended. */
export interface End {
  result?: any;
  error?: { name: string; code: string | null; message: string; stopped?: any; lease?: { holder: string } | null };
}

function refusal({ name, code, message, stopped, lease }: NonNullable<End["error"]>): string {
  if (code === "STOPPED") return `STOPPED: ${stopped.kind} by ${stopped.by}, ${stopped.reason}`;
  return code === "CONFLICT" && typeof lease?.holder === "string" ? "BUSY" : `${code ?? name}: ${message}`;
}

export const stopped = (kind: string): string => `STOPPED: ${kind} by Ana, newer`;

/** A call in progress. */
export interface Running {
  /** Resolves when the other system has taken the money. */
  paying: Promise<unknown>;
  /** Resolves when the signal of the call's scope aborts. */
  stopping: Promise<{ code: string }>;
  ended: Promise<End>;
  /** Lets the payment respond. */
  go(): void;
}

/** The result of a call in words, or why it was refused or stopped. */
export async function outcome({ ended }: Pick<Running, "ended">): Promise<string> {
  const { result, error } = await ended;
  return error === undefined ? [result].flat().join(" ") : refusal(error);
}

interface Said {
  id: string;
  event: string;
}

let calls = 0;

export abstract class Caller {
  readonly #events = new EventEmitter().setMaxListeners(0);

  protected abstract tell(what: string, given: object): void;

  protected readonly hear = (said: Said): void => void this.#events.emit(`${said.id} ${said.event}`, said);

  /** Makes a call: `what` is a method of the fixture. */
  call(what: string, given: object = {}): Running {
    const id = `call-${calls++}`;
    const event = async (name: string) => (await once(this.#events, `${id} ${name}`))[0];
    const running = { paying: event("paying"), stopping: event("stopping"), ended: event("ended") };
    this.tell(what, { id, ...given });
    return { ...running, go: () => this.tell("go", { id }) };
  }

  /** Makes a call whose payment responds at once. */
  through(what: string, given: object = {}): Promise<End> {
    const running = this.call(what, given);
    running.go();
    return running.ended;
  }
}

/** The fixture's methods, for this process. */
export type Make = (journal: string, say: (said: Said) => void) => Record<string, (given: object) => unknown>;

class Here extends Caller {
  readonly #methods: ReturnType<Make>;

  constructor(make: Make, journal: string) {
    super();
    this.#methods = make(journal, this.hear);
  }

  protected tell(what: string, given: object): void {
    void this.#methods[what]!(given);
  }
}

/** Another process. */
export class There extends Caller {
  readonly program: Program;

  constructor(path: string, target: string, journal: string) {
    super();
    let read = 0;
    const onLine = () => {
      for (; read < this.program.lines.length; read++) this.hear(JSON.parse(this.program.lines[read]!));
    };
    this.program = new Program([path, target, journal], { onLine, deadlineMs: 120_000 });
  }

  protected tell(what: string, given: object): void {
    this.program.tell(JSON.stringify({ do: what, ...given }));
  }
}

export type Where = "one process" | "two processes";

/** The kinds of store, each for calls of one process and for calls of two. */
export const places: ReadonlyArray<{ kind: Kind; where: Where }> = [
  ...kinds.map((kind) => ({ kind, where: "one process" as const })),
  ...sharedKinds.map((kind) => ({ kind, where: "two processes" as const })),
];

/** Two callers: the second one is this process. `path` is the fixture, and `make` makes its methods here. */
export function callers(where: Where, target: string, path: string, make: Make) {
  const journal = join(folder(), "journal");
  writeFileSync(journal, "");
  const here = new Here(make, journal);
  const first = where === "one process" ? here : new There(path, target, journal);
  /** Counts the payments of a run by their orders. */
  const payments = (run: string) => {
    const found: Record<string, number> = {};
    for (const line of readFileSync(journal, "utf8").split("\n")) {
      const [of, order] = line.split(" ") as [string, string];
      if (of === run) found[order] = (found[order] ?? 0) + 1;
    }
    return found;
  };
  return { here, first, payments };
}
