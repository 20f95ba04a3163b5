/** The write routes: fork, answer, stop and remove. */

import type { IncomingMessage } from "node:http";
import { diffValues } from "../../ts/inspect/diff.js";
import { edited } from "../../ts/inspect/edit.js";
import { parseJson } from "../../ts/bridge/json-form/json-text.js";
import { MAX_CHANGES, shortChanges, shortStranded } from "./answers.js";
import { shortQuestion } from "./questions.js";
import { refuseUnknown } from "../../ts/store/options.js";
import { MAX_BODY, tooLarge } from "./gate.js";
import { invalid } from "./refusal.js";
import type { CheckpointRef, RunRef } from "../../ts/plugin/views.js";
import type { Answer } from "../../ts/inspect/questions/views.js";
import type { ForkEdit } from "../../ts/inspect/fork.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { StopOptions } from "../../ts/store/stop.js";

type Fields = Record<string, unknown>;

export type WriteRoute = (inspector: Inspector, fields: Fields) => Promise<{ status: number; body: unknown }>;

/** The routes that write, by their path below `/api/v1/`. */
export const writeRoutes: Record<string, WriteRoute> = { fork, rm, answer, stop };

/** Reads the body of a request: a JSON object. */
export async function fieldsOf(request: IncomingMessage): Promise<Fields> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw tooLarge();
    chunks.push(chunk);
  }
  const fields = parseJson(Buffer.concat(chunks).toString("utf8"));
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw invalid("the body must be an object");
  }
  return fields as Fields;
}

/** The inspector checks the fields of the reference and the edit. */
async function fork(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  const { space: inSpace, run: ofRun, ns: inNs = null, id: fromId, dryRun = false, ...edit } = fields;
  const from = { space: inSpace, run: ofRun, ns: inNs, id: fromId } as CheckpointRef;
  const { space, run, ns = null, id } = await inspector.fork(from, edit, { dryRun: dryRun as boolean });
  const forked = { space, run, ns, id, from, dryRun };
  if (dryRun !== true) return { status: 201, body: forked };
  return { status: 200, body: { ...forked, ...(await changesOf(inspector, from, edit)) } };
}

/** The inspector checks the fields. */
async function answer(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  const { space, run, ns = null, ...given } = fields;
  const { stranded, ...question } = await inspector.answer({ space, run, ns } as RunRef, given as Answer);
  return { status: 201, body: { space, run, ns, ...shortQuestion(question), stranded: shortStranded(stranded) } };
}

/** The inspector checks the fields. Answers when the run has ended, or after `waitMs`. */
async function stop(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  const { space, run, ns = null, ...options } = fields;
  const { outcome, holder } = await inspector.stop({ space, run, ns } as RunRef, options as StopOptions);
  return { status: 200, body: { space, run, ns, outcome, holder } };
}

/** Returns the changes that an edit would make, for a preview. */
async function changesOf(
  inspector: Inspector,
  from: CheckpointRef,
  { set, patch, state }: ForkEdit,
): Promise<ReturnType<typeof shortChanges>> {
  const before = (await inspector.checkpoint(from))?.state;
  const after = edited(state === undefined ? before : state, { set, patch });
  const { changes, truncated } = diffValues("state", before, after, MAX_CHANGES);
  const short = shortChanges(changes, MAX_CHANGES);
  return { changes: short.changes, truncated: truncated || short.truncated };
}

async function rm(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  refuseUnknown(fields, ["space", "run", "ns", "ids"]);
  const { space, run, ns = null, ids } = fields;
  const ref = { space, run, ns } as RunRef;
  // An empty list selects no checkpoint, and must not remove the run.
  if (Array.isArray(ids) && ids.length === 0) return { status: 200, body: { removed: 0 } };
  return { status: 200, body: await inspector.remove(ref, ids as string[] | undefined) };
}
