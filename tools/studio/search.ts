/** Searches a value for text. */

import { type Place, placeOf, stepsTo, typeOf } from "../../ts/bridge/json-form/form.js";
import { limitedJsonForm } from "../../ts/inspect/limit.js";
import { fitting } from "./answers.js";
import { type Match, insideOf } from "./forms.js";

const MAX_MATCHES = 200;

/** The maximum depth of searched values. The path of a deeper match could not be shown. */
const MAX_DEPTH = 1_000;

/** The maximum size of all matches in an answer, in bytes. */
const MAX_BYTES = 256 * 2 ** 10;

/** Finds keys, texts, numbers and words that contain a text. Ignores case. */
export function search(form: unknown, text: string): { matches: Match[]; truncated: boolean } {
  const wanted = text.toLowerCase();
  const found: Match[] = [];
  const has = (each: string): boolean => each.toLowerCase().includes(wanted);
  // The next value is at the end of the stack, so matches are in document order.
  const stack: Array<{ form: unknown; place: Place | null; depth: number }> = [{ form, place: null, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { form: value, place, depth } = next;
    const key = place?.step;
    const inside = insideOf(value, depth);
    if ((typeof key === "string" && has(key)) || (inside === null && has(leafText(value)))) {
      if (found.length === MAX_MATCHES) return answer(found, true);
      found.push({ path: stepsTo(place), value: limitedJsonForm(value, { depth: 0, textBytes: 1_024, bytes: 4_096 }) });
    }
    if (inside === null || depth > MAX_DEPTH) continue;
    for (const { steps, value: each } of inside.entries.toReversed()) {
      stack.push({ form: each, place: placeOf(steps, place), depth: depth + steps.length });
    }
  }
  return answer(found, false);
}

function answer(found: Match[], isCut: boolean): { matches: Match[]; truncated: boolean } {
  const matches = fitting(found, MAX_BYTES);
  return { matches, truncated: isCut || matches.length < found.length };
}

/** Returns the shown text of a value. Bytes have none. */
function leafText(form: unknown): string {
  if (typeof form === "string") return form;
  const type = typeOf(form);
  if (type === undefined) return String(form);
  const { value, tag } = form as { value?: unknown; tag?: unknown };
  if (type === "Bytes") return "";
  if (type === "Opaque") return String(tag);
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
