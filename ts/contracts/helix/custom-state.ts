/** Merges changes into the custom state of a session, and keeps staged changes. */

import { isArray, readingArgument, show } from "../../bridge/errors.js";
import { refuseUnknown, text } from "../../store/options.js";
import { type Format, type Serialized, deserialize } from "../../bridge/serializer.js";
import { type Context, type Decision, type Session, listPart, update } from "./sessions.js";
import { fieldsOf } from "./values.js";
import type { CustomStateChanges, MergeResult } from "./contract.js";

interface Changes {
  values: Record<string, unknown>;
  /**
   * The keys whose arrays replace the stored ones. Arrays of other keys are appended. Null: every value replaces the
   * stored one.
   */
  arrayReplacements: string[] | null;
}

/** Serializes changes, so that later changes of the caller's objects have no effect. */
function encodeChanges(changes: unknown, format: Format): Serialized {
  const fields = fieldsOf(changes, "changes");
  const { values, arrayReplacements } = fields;
  const isFrameworkForm =
    typeof values === "object" && values !== null && !isArray(values) && isIterable(arrayReplacements);
  if (isFrameworkForm) refuseUnknown(fields, ["values", "arrayReplacements", "warnings"], "changes");
  const read: Changes = isFrameworkForm
    ? {
        values: fieldsOf(values, "changes.values"),
        arrayReplacements: readingArgument(REPLACEMENTS, () =>
          Array.from(arrayReplacements, (key, at) => text(key, `${REPLACEMENTS}[${at}]`)),
        ),
      }
    : { values: fields, arrayReplacements: null };
  return format.serialize(read, "changes");
}

const REPLACEMENTS = "changes.arrayReplacements";

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && readingArgument(REPLACEMENTS, () => Symbol.iterator in value);
}

function readChanges({ tag, bytes }: Serialized, format: Format): Changes {
  return deserialize(format, tag, bytes, "changes") as Changes;
}

/** Merges changes into a custom state. Returns a warning for each array that could not be appended. */
function merge(customState: Record<string, unknown>, { values, arrayReplacements }: Changes): string[] {
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    const before = Object.hasOwn(customState, name) ? customState[name] : undefined;
    const appends = arrayReplacements !== null && Array.isArray(value) && !arrayReplacements.includes(name);
    if (appends && before !== undefined && !Array.isArray(before)) {
      warnings.push(
        `customState.${name} is ${show(before)}: it was replaced by the array, which cannot be appended to it`,
      );
    }
    const merged = appends && Array.isArray(before) ? [...before, ...value] : value;
    // Define the property, because an assignment to `__proto__` would set the prototype.
    Object.defineProperty(customState, name, { value: merged, writable: true, enumerable: true, configurable: true });
  }
  return warnings;
}

function mergeAll({ engine }: Context, { state }: Session, all: Changes[]): Decision<MergeResult> {
  const customState = (state.customState(engine.format) ?? {}) as Record<string, unknown>;
  const warnings = all.flatMap((changes) => merge(customState, changes));
  return { edit: { parts: state.withCustomState(customState, engine.format) }, result: { warnings } };
}

export function mergeCustomState(context: Context, sessionId: string, changes: unknown): Promise<MergeResult> {
  const { format } = context.engine;
  const encoded = encodeChanges(changes, format);
  return update(context, sessionId, (session) => mergeAll(context, session, [readChanges(encoded, format)]));
}

export function stage(context: Context, sessionId: string, changes: unknown): Promise<void> {
  const { engine } = context;
  const encoded = encodeChanges(changes, engine.format);
  return update(context, sessionId, (session) => {
    const staged = [...session.list<Changes>("staging", engine), readChanges(encoded, engine.format)];
    return { edit: { parts: [listPart("staging", staged, engine)] }, result: undefined };
  });
}

export function promote(context: Context, sessionId: string): Promise<MergeResult> {
  const { engine } = context;
  return update(context, sessionId, (session) => {
    const staged = session.list<Changes>("staging", engine);
    if (staged.length === 0) return { edit: null, result: { warnings: [] } };
    const { edit, result } = mergeAll(context, session, staged);
    return { edit: { parts: [...(edit?.parts ?? []), listPart("staging", [], engine)] }, result };
  });
}

export function discard(context: Context, sessionId: string): Promise<void> {
  const { engine } = context;
  return update(context, sessionId, (session) => {
    const isEmpty = session.list("staging", engine).length === 0;
    return { edit: isEmpty ? null : { parts: [listPart("staging", [], engine)] }, result: undefined };
  });
}

/** Returns the staged changes, in their original form. */
export function staged({ engine }: Context, session: Session | null): CustomStateChanges[] {
  const changes = session?.list<Changes>("staging", engine) ?? [];
  return changes.map(({ values, arrayReplacements }) =>
    arrayReplacements === null ? values : { values, arrayReplacements },
  );
}
