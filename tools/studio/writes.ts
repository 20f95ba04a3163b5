/** The routes that write: fork and remove. */

import type { IncomingMessage } from "node:http";
import { quote } from "../../ts/bridge/errors.js";
import { diffValues } from "../../ts/inspect/diff.js";
import { mergePatch, setAt } from "../../ts/inspect/edit.js";
import { parseJson } from "../../ts/bridge/json-form/json-text.js";
import { parsePath } from "../../ts/bridge/json-form/path.js";
import { MAX_CHANGES, shortChanges } from "./answers.js";
import { MAX_BODY, tooLarge } from "./gate.js";
import { invalid } from "./refusal.js";
import type { CheckpointRef, RunRef } from "../../ts/inspect/views.js";
import type { ForkEdit } from "../../ts/inspect/fork.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

type Fields = Record<string, unknown>;

/** Answers a request that writes. */
export type WriteRoute = (inspector: Inspector, fields: Fields) => Promise<{ status: number; body: unknown }>;

/** The routes that write, by their path below `/api/v1/`. */
export const writeRoutes: Record<string, WriteRoute> = { fork, rm };

/** Reads the body of a request: an object in JSON. */
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

async function fork(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  known(fields, ["space", "run", "ns", "id", "set", "patch", "state", "as", "dryRun"]);
  const from: CheckpointRef = { ...runOf(fields), id: text(fields, "id") };
  const edit: ForkEdit = {};
  if (fields["set"] !== undefined) edit.set = pairs(fields["set"]);
  if (fields["as"] !== undefined) edit.as = text(fields, "as");
  if (Object.hasOwn(fields, "patch")) edit.patch = fields["patch"];
  if (Object.hasOwn(fields, "state")) edit.state = fields["state"];
  const dryRun = flag(fields, "dryRun");
  const { space, run, ns = null, id } = await inspector.fork(from, edit, { dryRun });
  const forked = { space, run, ns, id, from, dryRun };
  if (!dryRun) return { status: 201, body: forked };
  return { status: 200, body: { ...forked, ...(await changesOf(inspector, from, edit)) } };
}

/** Returns what an edit changes in a state, so that one sees it before it is done. */
async function changesOf(
  inspector: Inspector,
  from: CheckpointRef,
  { set = [], patch, state }: ForkEdit,
): Promise<ReturnType<typeof shortChanges>> {
  const before = (await inspector.checkpoint(from))?.state;
  let after = state === undefined ? before : state;
  for (const [path, value] of set) after = setAt(after, parsePath(path), value);
  if (patch !== undefined) after = mergePatch(after, patch);
  const { changes, truncated } = diffValues("state", before, after, MAX_CHANGES);
  const short = shortChanges(changes, MAX_CHANGES);
  return { changes: short.changes, truncated: truncated || short.truncated };
}

async function rm(inspector: Inspector, fields: Fields): Promise<{ status: number; body: unknown }> {
  known(fields, ["space", "run", "ns", "ids"]);
  const ref = runOf(fields);
  if (fields["ids"] === undefined) return { status: 200, body: await inspector.remove(ref) };
  const ids = fields["ids"];
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string")) throw invalid('"ids" must be a list of texts');
  // An empty list names no checkpoint. It must not remove the run.
  return { status: 200, body: ids.length === 0 ? { removed: 0 } : await inspector.remove(ref, ids) };
}

function known(fields: Fields, names: readonly string[]): void {
  const name = Object.keys(fields).find((each) => !names.includes(each));
  if (name !== undefined) throw invalid(`unknown field ${quote(name)}: there are ${names.join(", ")}`);
}

function runOf(fields: Fields): RunRef {
  const ns = fields["ns"] ?? null;
  if (ns !== null && typeof ns !== "string") throw invalid('"ns" must be a text or null');
  return { space: text(fields, "space"), run: text(fields, "run"), ns };
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw invalid(`"${name}" must be a text`);
  return value;
}

function flag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== "boolean") throw invalid(`"${name}" must be true or false`);
  return value;
}

const isPair = (each: unknown) => Array.isArray(each) && each.length === 2 && typeof each[0] === "string";

function pairs(value: unknown): Array<[string, unknown]> {
  if (!Array.isArray(value) || !value.every(isPair)) throw invalid('"set" must be a list of pairs [path, value]');
  return value as Array<[string, unknown]>;
}
