/** Makes a file of a run: an HTML file that shows it without a server, or JSON. */

import { ForkpointError, isForkpointError, quote } from "../../ts/bridge/errors.js";
import { safeJson } from "../../ts/bridge/json-form/json-text.js";
import { LeavingOut } from "../../ts/inspect/leave-out.js";
import { usageOf } from "./conversation.js";
import { shortCourse } from "./course.js";
import { htmlOf } from "./html.js";
import { Packer, type TakenCheckpoint, type TakenRun } from "./taken.js";
import type { CheckpointInfo, EffectDetail, RunInfo, RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The parts of a run to take. */
export interface TakeOptions {
  format: "html" | "json";
  /** Only the last checkpoints. Default: all. */
  last?: number | undefined;
  /** Paths to leave out. */
  leaveOut?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
  /** Called after each checkpoint. */
  onProgress?: ((done: number, of: number) => void) | undefined;
}

/** A run as a file. */
export interface TakenFile {
  /** The text of the file, in pieces. */
  pieces: Iterable<string>;
  /** The length of the text, in characters. */
  size: number;
  runs: number;
  checkpoints: number;
  /** The number of unreadable checkpoints. */
  damaged: number;
  /** The number of values that each path has left out. */
  leftOut: Record<string, number>;
}

/** The maximum size of a file, in characters. A browser opens a larger one slowly, or not at all. */
export const MOST = 64 * 2 ** 20;

/** The most checkpoints of a page. */
const PAGE = 500;

/**
 * Reads a run with its subgraphs, and makes the file.
 * @throws ForkpointError `NOT_FOUND` if there is no such run. `UNSUPPORTED` if the file would be too large. `INVALID_ARGUMENT`
 *   for a wrong path to leave out.
 */
export async function take(inspector: Inspector, ref: RunRef, options: TakeOptions): Promise<TakenFile> {
  const { format, last = Infinity, leaveOut = [], signal, onProgress } = options;
  const leaving = new LeavingOut(leaveOut);
  const main = await inspector.run(ref, { withWhy: true, withBytes: true });
  if (main === null) throw new ForkpointError("NOT_FOUND", `there is no run ${quote(ref.run)} in ${quote(ref.space)}`);
  const nested = await subgraphs(inspector, main);
  const sink = format === "html" ? new Packed() : new Plain();
  const of = Math.min(last, main.checkpoints) + nested.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
  const counts = { checkpoints: 0, damaged: 0 };
  let oldest = -Infinity;
  for (const run of [main, ...nested]) {
    signal?.throwIfAborted();
    const isMain = run === main;
    sink.begin(await headOf(inspector, run, leaving));
    let taken = 0;
    for await (const info of newestOf(inspector, run)) {
      // Leave out the subgraphs of left-out steps.
      if (isMain ? taken === last : info.seq < oldest) break;
      signal?.throwIfAborted();
      const checkpoint = await checkpointOf(inspector, info, leaving);
      sink.add(checkpoint);
      taken += 1;
      counts.checkpoints += 1;
      if ("damage" in checkpoint) counts.damaged += 1;
      if (isMain && Number.isFinite(last)) oldest = info.seq;
      if (sink.size > MOST) throw tooLarge(format, counts.checkpoints, of);
      onProgress?.(counts.checkpoints, of);
    }
    sink.end(run.checkpoints - taken);
  }
  const { version } = await inspector.info();
  const leftOut = Object.fromEntries(leaving.counts);
  const head = { forkpoint: "run/1", version, made: Date.now(), leftOut };
  const text = [...sink.pieces(head)];
  const pieces = format === "html" ? htmlOf(text, main.run) : text;
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { pieces, size, runs: 1 + nested.length, ...counts, leftOut };
}

function tooLarge(format: string, done: number, of: number): ForkpointError {
  const how = `take only the last steps (--last ${Math.max(1, Math.floor(done / 2))}), or leave out large values`;
  const message = `the ${format.toUpperCase()} file would be larger than ${MOST / 2 ** 20} MiB after ${done} of ${of} checkpoints: ${how}`;
  return new ForkpointError("UNSUPPORTED", message);
}

/** Lists the subgraphs of a run. */
async function subgraphs(inspector: Inspector, { space, run, ns }: RunInfo): Promise<RunInfo[]> {
  if (ns !== "") return [];
  const found: RunInfo[] = [];
  let cursor: string | null = null;
  do {
    const page = await inspector.runs({ space, match: run, allNs: true, withBytes: true, limit: PAGE, cursor });
    for (const each of page.items) if (each.run === run && each.ns !== ns) found.push(each);
    ({ cursor } = page);
  } while (cursor !== null);
  return found;
}

async function* newestOf(inspector: Inspector, { space, run, ns }: RunInfo): AsyncGenerator<CheckpointInfo> {
  let cursor: string | null = null;
  do {
    const page = await inspector.checkpoints({ space, run, ns }, { limit: PAGE, cursor, order: "desc" });
    yield* page.items;
    ({ cursor } = page);
  } while (cursor !== null);
}

async function headOf(
  inspector: Inspector,
  run: RunInfo,
  leaving: LeavingOut,
): Promise<Omit<TakenRun, "checkpoints" | "earlier">> {
  const ref = { space: run.space, run: run.run, ns: run.ns };
  const course = await inspector.course(ref);
  const none = { subgraphs: [], moreNested: 0, pauses: [], program: null, next: null };
  const effects: EffectDetail[] = [];
  for (const info of await inspector.effects(ref)) {
    const found = await inspector.effect({ ...ref, key: info.key, branch: info.branch });
    if (found === null) continue;
    // The name of the machine is useless elsewhere.
    effects.push({ ...found, effect: { ...found.effect, holder: "" }, result: leaving.from(found.result) });
  }
  const labels = Object.entries(leaving.from(run.labels) as object).filter(([, value]) => typeof value === "string");
  const cut = course === null ? none : shortCourse(course);
  return {
    // The questions of the run are in the pending writes.
    run: {
      ...run,
      lease: null,
      question: null,
      labels: Object.fromEntries(labels),
      latest: withoutSecrets(run.latest, leaving),
    },
    course: { ...cut, subgraphs: cut.subgraphs.map((each) => withoutSecrets(each, leaving)) },
    usage: await usageOf(inspector, ref),
    effects,
  };
}

function withoutSecrets(info: CheckpointInfo, leaving: LeavingOut): CheckpointInfo {
  const meta = leaving.from(info.meta);
  return meta === info.meta ? info : { ...info, meta: meta as CheckpointInfo["meta"] };
}

async function checkpointOf(inspector: Inspector, info: CheckpointInfo, leaving: LeavingOut): Promise<TakenCheckpoint> {
  const checkpoint = withoutSecrets(info, leaving);
  let detail;
  try {
    detail = await inspector.checkpoint({ space: info.space, run: info.run, ns: info.ns, id: info.id });
  } catch (error) {
    if (!isForkpointError(error) || !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return { checkpoint, damage: error.message };
  }
  if (detail === null) return { checkpoint, damage: "it was removed while the run was read" };
  const { state, rest, writes, next, parts } = detail;
  return {
    checkpoint,
    state: leaving.from(state),
    rest: leaving.from(rest),
    // The path of a write begins with its channel, like a path in the state.
    writes: writes.map((write) => Object.assign({}, write, { value: leaving.from(write.value, [write.channel]) })),
    next,
    parts,
  };
}

/** Collects the content of a file. */
interface Sink {
  /** The length of the text so far, in characters. */
  readonly size: number;
  begin(head: object): void;
  add(checkpoint: TakenCheckpoint): void;
  end(earlier: number): void;
  pieces(head: object): Iterable<string>;
}

/** Packs the runs, for the page. */
class Packed implements Sink {
  readonly #packer = new Packer();
  readonly #runs: string[] = [];
  #head: object = {};
  #checkpoints: string[] = [];

  get size(): number {
    return this.#packer.size;
  }

  begin(head: object): void {
    this.#head = head;
    this.#checkpoints = [];
  }

  add(checkpoint: TakenCheckpoint): void {
    this.#checkpoints.push(this.#packer.add(checkpoint));
  }

  end(earlier: number): void {
    const fields = Object.entries({ ...this.#head, earlier }).map(
      ([name, value]) => `"${name}":${this.#packer.add(value)}`,
    );
    this.#runs.push(
      this.#packer.addText(`{${fields.join()},"checkpoints":${this.#packer.addText(`[${this.#checkpoints.join()}]`)}}`),
    );
  }

  pieces(head: object): Iterable<string> {
    const fields = Object.entries(head).map(([name, value]) => `"${name}":${this.#packer.add(value)}`);
    const root = this.#packer.addText(`{${fields.join()},"runs":${this.#packer.addText(`[${this.#runs.join()}]`)}}`);
    return this.#packer.pieces(root);
  }
}

/** Writes the runs as plain JSON. */
class Plain implements Sink {
  readonly #pieces: string[] = [];
  size = 0;
  #isFirst = true;

  #write(text: string): void {
    this.#pieces.push(text);
    this.size += text.length;
  }

  begin(head: object): void {
    const text = safeJson(head);
    this.#write(`${this.#pieces.length === 0 ? "" : ","}${text.slice(0, -1)},"checkpoints":[`);
    this.#isFirst = true;
  }

  add(checkpoint: TakenCheckpoint): void {
    this.#write(`${this.#isFirst ? "" : ","}\n${safeJson(checkpoint)}`);
    this.#isFirst = false;
  }

  end(earlier: number): void {
    this.#write(`],"earlier":${earlier}}`);
  }

  pieces(head: object): Iterable<string> {
    return [`${safeJson(head).slice(0, -1)},"runs":[`, ...this.#pieces, "]}\n"];
  }
}
