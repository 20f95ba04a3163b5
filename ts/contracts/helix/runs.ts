/** The runs of a session, and its sub-sessions. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, isArray, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { optionalId, requireId } from "../../store/ids.js";
import { type Serialized, deserialize } from "../../bridge/serializer.js";
import { type Context, listPart, update } from "./sessions.js";
import { fieldsOf } from "./values.js";
import type { EndRun, Run, StartRun, SubSessionRef } from "./contract.js";

export async function startRun(context: Context, sessionId: string, run: StartRun = {}): Promise<Run> {
  const { engine, clock } = context;
  const fields = fieldsOf(run, "run");
  const runId = fields["runId"] === undefined ? crypto().randomUUID() : requireId(fields["runId"], "run.runId");
  const status = optionalId(fields["status"], "run.status") ?? "running";
  const given = engine.format.serialize(fields, "run");
  return update(context, sessionId, (session) => {
    const runs = session.list<Run>("runs", engine);
    if (runs.some((other) => other.runId === runId)) {
      throw new ForkpointError(
        "CONFLICT",
        `session ${quote(sessionId)} already has a run ${quote(runId)}: use another id`,
      );
    }
    const started = {
      ...read(context, given, "run"),
      status,
      runId,
      sessionId,
      turn: runs.length + 1,
      startedAt: clock.now(),
    } as Run;
    return { edit: { parts: [listPart("runs", [...runs, started], engine)] }, result: started };
  });
}

export async function endRun(context: Context, sessionId: string, runId: string, end: EndRun = {}): Promise<Run> {
  const { engine, clock } = context;
  const fields = fieldsOf(end, "end");
  const status = optionalId(fields["status"], "end.status") ?? "completed";
  const given = engine.format.serialize(fields, "end");
  return update(context, sessionId, (session) => {
    const runs = session.list<Run>("runs", engine);
    const at = runs.findIndex((other) => other.runId === runId);
    const before = runs[at];
    if (before === undefined) {
      throw new ForkpointError("NOT_FOUND", `session ${quote(sessionId)} has no run ${quote(runId)}: start it first`);
    }
    if (before.endedAt !== undefined) {
      throw new ForkpointError("CONFLICT", `run ${quote(runId)} has already ended, as ${quote(before.status)}`);
    }
    const { runId: _, sessionId: __, turn: ___, startedAt: ____, ...rest } = read(context, given, "end");
    const ended = { ...before, ...rest, status, endedAt: clock.now() } as Run;
    return { edit: { parts: [listPart("runs", runs.with(at, ended), engine)] }, result: ended };
  });
}

function read({ engine }: Context, { tag, bytes }: Serialized, what: string): Record<string, unknown> {
  return deserialize(engine.format, tag, bytes, what) as Record<string, unknown>;
}

/** The fields that may hold the id of a sub-session, in order of precedence. */
const idFields = ["subSessionId", "sessionId", "id"] as const;

function idOf(ref: unknown): string {
  if (typeof ref === "string") return requireId(ref, "ref");
  const fields = fieldsOf(ref, "ref");
  const field = idFields.find((name) => fields[name] !== undefined);
  if (field === undefined) {
    throw typeError(`ref must name the sub-session in one of the fields ${idFields.join(", ")}, but has none of them`);
  }
  return requireId(fields[field], `ref.${field}`);
}

export async function addSubSession(context: Context, sessionId: string, ref: SubSessionRef): Promise<void> {
  const { engine } = context;
  const id = idOf(ref);
  const given = engine.format.serialize([ref], "ref");
  return update(context, sessionId, (session) => {
    const refs = session.list<SubSessionRef>("subSessions", engine);
    const [added] = deserialize(engine.format, given.tag, given.bytes, "ref") as [SubSessionRef];
    const at = refs.findIndex((other) => idOf(other) === id);
    const all = at === -1 ? [...refs, added] : refs.with(at, added);
    return { edit: { parts: [listPart("subSessions", all, engine)] }, result: undefined };
  });
}

export function readStatuses(expected: unknown): string[] {
  const all = isArray(expected) ? readingArgument("expected", () => [...expected]) : [expected];
  return all.map((status, at) => {
    if (typeof status !== "string") throw typeError(`expected[${at}] must be a status, but is ${show(status)}`);
    return status;
  });
}
