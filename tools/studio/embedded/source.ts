/** Answers the page's requests from the data of a file, like routes.ts from a store. */

import { parsePath, valueAt } from "../../../ts/bridge/json-form/path.js";
import { hasMessages } from "../../../ts/inspect/conversation/lists.js";
import { Conversations } from "../../../ts/inspect/conversation/page.js";
import { compareDetails } from "../../../ts/inspect/compare-checkpoints.js";
import {
  MAX_CHANGES,
  fitting,
  shortChanges,
  shortCheckpoint,
  shortDetail,
  shortEffect,
  shortRun,
  MAX_ANSWER,
} from "../answers.js";
import { search } from "../search.js";
import { shortConversation } from "../short-conversation.js";
import type { Taken, TakenCheckpoint, TakenRun } from "../taken.js";
import type { Change, CheckpointDetail, CheckpointInfo, RunRef } from "../../../ts/plugin/views.js";

type Parameters = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** An answer that is an error. */
class Missing extends Error {
  readonly code: string;

  constructor(message: string, code = "NOT_FOUND") {
    super(message);
    this.code = code;
  }
}

/** Makes the function that answers requests. */
export function makeSource(taken: Taken): (route: string, parameters: Parameters) => Promise<Response> {
  const routes = routesOf(taken);
  return async (route, parameters) => {
    try {
      if (!Object.hasOwn(routes, route))
        throw new Missing("this file doesn't have these data: open the database in the studio");
      const found = routes[route as keyof typeof routes](new Asked(parameters));
      return new Response(typeof found === "string" ? found : JSON.stringify(found));
    } catch (error) {
      const code = error instanceof Missing ? error.code : "INVALID_ARGUMENT";
      const message = error instanceof Error ? error.message : String(error);
      return new Response(JSON.stringify({ error: { code, message } }), { status: code === "NOT_FOUND" ? 404 : 400 });
    }
  };
}

/** The parameters of a request. */
class Asked {
  readonly #given: Parameters;

  constructor(given: Parameters) {
    this.#given = given;
  }

  text(name: string): string | undefined {
    const value = this.#given[name];
    return value === null || value === undefined || value === "" ? undefined : String(value);
  }

  number(name: string, otherwise: number): number {
    const value = Number(this.text(name) ?? otherwise);
    return Number.isSafeInteger(value) ? value : otherwise;
  }

  part(): Change["part"] {
    const part = this.text("part");
    return part === "rest" || part === "writes" ? part : "state";
  }

  ref(): RunRef {
    return { space: this.text("space") ?? "", run: this.text("run") ?? "", ns: this.text("ns") ?? null };
  }
}

const isSame = (a: RunRef, b: RunRef): boolean =>
  a.space === b.space && a.run === b.run && (a.ns ?? "") === (b.ns ?? "");

function read(found: TakenCheckpoint | undefined): CheckpointDetail {
  if (found === undefined) throw new Missing("this file doesn't have this checkpoint");
  if ("damage" in found) throw new Missing(found.damage, "CORRUPT");
  return found;
}

function routesOf({ runs: all, version }: Taken) {
  const runOf = (ref: RunRef): TakenRun => {
    const found = all.find(({ run }) => isSame(run, ref));
    if (found !== undefined) return found;
    throw new Missing("this file doesn't have this run: open the database in the studio");
  };
  /** Finds the runs of a list, such as `[[space, run, ns]]`. */
  const named = (of: string): Array<TakenRun | undefined> =>
    (JSON.parse(of) as Array<[string, string, string | null]>).map(([space, run, ns]) =>
      all.find((each) => isSame(each.run, { space, run, ns })),
    );
  const theCheckpoint = (asked: Asked): CheckpointDetail => {
    const { checkpoints } = runOf(asked.ref());
    const id = asked.text("id");
    return read(id === undefined ? checkpoints[0] : checkpoints.find(({ checkpoint }) => checkpoint.id === id));
  };
  /** Returns the messages of a list in a checkpoint's parent. Null: the parent is not in the file. */
  const entriesBefore = ({ parent }: CheckpointInfo, path: string): readonly unknown[] | null => {
    if (parent === null) return [];
    const run = all.find(({ run: each }) => isSame(each, parent));
    const found = run?.checkpoints.find(({ checkpoint }) => checkpoint.id === parent.id);
    return found === undefined || "damage" in found ? null : new Conversations(found.state).entries(path);
  };
  return {
    info: () => ({ version, target: "", backend: "file", write: false, spaces: [] }),
    runs(asked: Asked) {
      const of = asked.text("of");
      const [match = "", status] = [asked.text("match"), asked.text("status")];
      if (of !== undefined) return { runs: named(of).map((found) => found?.run ?? null), cursor: null };
      const found = all.filter(({ run }, at) => {
        const isShown = at === 0 || asked.text("allNs") === "true";
        return isShown && run.run.includes(match) && (status === undefined || run.status === status);
      });
      return { runs: found.map(({ run }) => shortRun(run)), cursor: null };
    },
    run(asked: Asked) {
      const { run, checkpoints, effects } = runOf(asked.ref());
      const from = asked.number("cursor", 0);
      const to = from + asked.number("limit", 100);
      const shown = fitting(
        checkpoints.slice(from, to).map(({ checkpoint }) => shortCheckpoint(checkpoint)),
        MAX_ANSWER,
      );
      const next = from + Math.max(1, shown.length);
      return {
        run: shortRun(run),
        checkpoints: shown,
        // Other runs are not in the file.
        forks: [],
        moreForks: 0,
        effects: effects.map(({ effect }) => effect).toReversed(),
        cursor: next < checkpoints.length ? String(next) : null,
      };
    },
    course: (asked: Asked) => runOf(asked.ref()).course,
    // Questions in a file cannot be answered. Their values are in the pending writes.
    questions: () => ({ questions: [], more: 0 }),
    usage(asked: Asked) {
      const of = asked.text("of");
      if (of !== undefined) return { usages: named(of).map((found) => found?.usage ?? null) };
      return runOf(asked.ref()).usage ?? { total: null, steps: [], complete: true, unpriced: [] };
    },
    checkpoint(asked: Asked) {
      const [part, path] = [asked.part(), asked.text("path")];
      const depth = asked.text("depth") === undefined ? undefined : asked.number("depth", 3);
      const short = shortDetail(theCheckpoint(asked), { depth, items: undefined, part, path });
      if (short === null) throw new Missing("there is nothing at this path");
      return path === undefined ? { ...short, hasMessages: hasMessages(theCheckpoint(asked).state) } : short;
    },
    conversation(asked: Asked) {
      const { checkpoint, state } = theCheckpoint(asked);
      const conversations = new Conversations(state);
      const path = asked.text("list") ?? conversations.paths[0];
      if (path !== undefined && !conversations.paths.includes(path)) throw new Missing("there are no messages there");
      const from = asked.text("from") === undefined ? undefined : asked.number("from", 0);
      const before = path === undefined ? null : entriesBefore(checkpoint, path);
      const page = conversations.page(checkpoint, path, before, { from, limit: asked.number("limit", 50) });
      return shortConversation(page, from, asked.text("text") === undefined ? undefined : asked.number("text", 1));
    },
    raw(asked: Asked): string {
      const [detail, path] = [theCheckpoint(asked), asked.text("path")];
      const value = path === undefined ? detail[asked.part()] : valueAt(detail[asked.part()], parsePath(path));
      if (value === undefined) throw new Missing("there is nothing at this path");
      return `${JSON.stringify(value, null, 2)}\n`;
    },
    effect(asked: Asked) {
      const [key, branch] = [asked.text("key"), asked.number("branch", 0)];
      const found = runOf(asked.ref()).effects.find(({ effect }) => effect.key === key && effect.branch === branch);
      if (found === undefined) throw new Missing("this file doesn't have this effect");
      return shortEffect(found);
    },
    search: (asked: Asked) => search(theCheckpoint(asked)[asked.part()], asked.text("text") ?? ""),
    diff(asked: Asked) {
      const { checkpoints } = runOf(asked.ref());
      const find = (id: string | undefined) => checkpoints.find(({ checkpoint }) => checkpoint.id === id);
      const to = read(find(asked.text("to")));
      const given = asked.text("from");
      const parent = to.checkpoint.parent;
      const found = find(given ?? (parent !== null && isSame(parent, to.checkpoint) ? parent.id : undefined));
      if (found === undefined && (given !== undefined || parent !== null)) {
        throw new Missing("this file doesn't have the checkpoint to compare with");
      }
      const from = found === undefined ? null : read(found);
      const { changes, truncated } = compareDetails(from, to, MAX_CHANGES + 1);
      const short = shortChanges(changes, MAX_CHANGES);
      return {
        from: from === null ? null : shortCheckpoint(from.checkpoint),
        to: shortCheckpoint(to.checkpoint),
        changes: short.changes,
        truncated: truncated || short.truncated,
      };
    },
  };
}
