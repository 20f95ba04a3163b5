// The user's edits of values that are not yet in a fork, for each checkpoint.
import { signal } from "@preact/signals";
import { typeOf } from "../../../ts/bridge/json-form/form.js";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { type Step, isObject, moreOf, sizeOf } from "../forms.js";
import type { CheckpointRef } from "../../../ts/plugin/views.js";
import { bytes, shown } from "./format.js";

/** The maximum length of an editable text, in characters. Browsers are too slow for longer texts. */
export const LONGEST = 200_000;

/** A new value and the value that it replaces, in the JSON form of values. */
export interface PendingEdit {
  path: readonly Step[];
  before: unknown;
  value: unknown;
}

/** The edits of each checkpoint, in the order of application. */
const pending = signal<Readonly<Record<string, readonly PendingEdit[]>>>({});

const NONE: readonly PendingEdit[] = [];

const keyOf = ({ space, run, ns, id }: CheckpointRef): string => JSON.stringify([space, run, ns ?? "", id]);

export const editsOf = (of: CheckpointRef): readonly PendingEdit[] => pending.value[keyOf(of)] ?? NONE;

const others = (of: CheckpointRef, path: string) => editsOf(of).filter((each) => formatPath(each.path) !== path);

function store(of: CheckpointRef, edits: readonly PendingEdit[]): void {
  pending.value = { ...pending.value, [keyOf(of)]: edits };
}

/** Adds an edit. Replaces an earlier edit of the same value. */
export const addEdit = (of: CheckpointRef, edit: PendingEdit): void =>
  store(of, [...others(of, formatPath(edit.path)), edit]);

export const undoEdit = (of: CheckpointRef, path: readonly Step[]): void => store(of, others(of, formatPath(path)));

export const clearEdits = (of: CheckpointRef): void => store(of, NONE);

/** Returns the values that a fork sets. */
export const settingsOf = (edits: readonly PendingEdit[]): Array<[path: string, value: unknown]> =>
  edits.map(({ path, value }) => [formatPath(path), value]);

const startsWith = (path: readonly Step[], start: readonly Step[]): boolean =>
  path.length > start.length && start.every((step, index) => step === path[index]);

/** Returns why a value can't be edited. Null: it can be edited. */
export function whyNoEdit(edits: readonly PendingEdit[], path: readonly Step[], form: unknown): string | null {
  const outer = edits.find((each) => startsWith(path, each.path));
  if (outer !== undefined)
    return `${shown(formatPath(outer.path), 200)} has an edit: change it there, or undo it first.`;
  if (edits.some((each) => startsWith(each.path, path))) return "A value inside it has an edit: undo that one first.";
  const opaque = opaqueIn(form);
  if (opaque !== null) return opaque;
  const size = sizeOf(form);
  return size > LONGEST ? tooLarge(size, moreOf(form)?.of !== "Text" && isObject(form)) : null;
}

export const tooLarge = (size: number, hasInside: boolean): string =>
  `This value is too large to edit here: it has ${bytes(size)}, and ${bytes(LONGEST)} is the most. ` +
  (hasInside ? "Select a value inside it, or use npx forkpoint fork." : "Use npx forkpoint fork --patch.");

/** Returns why an unreadable value, or a value with an unreadable part, can't be edited. */
export function opaqueIn(root: unknown): string | null {
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const form = stack.pop();
    if (!isObject(form)) continue;
    if (typeOf(form) === "Opaque") {
      const tag = shown(String((form as { tag?: unknown }).tag), 60);
      const where = form === root ? "This value is" : "A value inside it is";
      return `${where} opaque (${tag}): it isn't readable here, so it can only be kept as it is.`;
    }
    for (const each of Object.values(form)) stack.push(each);
  }
  return null;
}
