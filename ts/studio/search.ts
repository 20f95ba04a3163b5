import { containerOf, entriesOf, typeOf } from "../inspect/form.js";
import { limitedJsonForm } from "../inspect/limit.js";
import { fitting } from "./answers.js";

type Step = string | number;

/** A place in a value whose key or text has what is searched for. */
export interface Match {
  path: Step[];
  value: unknown;
}

/** The most matches in an answer. */
const MAX_MATCHES = 200;

/** The size of all matches in an answer, in bytes. */
const MAX_BYTES = 256 * 2 ** 10;

/** Finds keys, texts, numbers and words that have a text in them, whatever its case. */
export function search(form: unknown, text: string): { matches: Match[]; truncated: boolean } {
  const wanted = text.toLowerCase();
  const found: Match[] = [];
  const has = (each: string): boolean => each.toLowerCase().includes(wanted);
  // The next value to look at is at the end, so that the matches come in the order of the document.
  const stack: Array<{ form: unknown; path: Step[] }> = [{ form, path: [] }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { form: value, path } = next;
    const key = path.at(-1);
    const inside = entriesIn(value);
    if ((typeof key === "string" && has(key)) || (inside === null && has(leafText(value)))) {
      if (found.length === MAX_MATCHES) return answer(found, true);
      found.push({ path, value: limitedJsonForm(value, { depth: 0, items: 1, text: 1_024, bytes: 4_096 }, path) });
    }
    for (const [step, each] of inside?.toReversed() ?? []) stack.push({ form: each, path: [...path, step] });
  }
  return answer(found, false);
}

function answer(found: Match[], isCut: boolean): { matches: Match[]; truncated: boolean } {
  const matches = fitting(found, MAX_BYTES);
  return { matches, truncated: isCut || matches.length < found.length };
}

/** Lists what is in a container, with the steps that lead there. Null: the value is none. */
function entriesIn(form: unknown): Array<[Step, unknown]> | null {
  switch (containerOf(form)) {
    case null:
      return null;
    case "List":
      return [...(form as unknown[]).entries()];
    case "Set":
      return [...(form as { value: unknown[] }).value.entries()];
    case "Map":
      return (form as { value: Array<[unknown, unknown]> }).value.map(([key, value], index) =>
        typeof key === "string" ? [key, value] : [index, [key, value]],
      );
    case "Array": {
      const { value, properties } = form as { value: unknown[]; properties: Array<[string, unknown]> };
      return [...value.entries(), ...properties];
    }
    default:
      return entriesOf(form as Record<string, unknown>);
  }
}

/** The text of a value as one sees it. Bytes have none. */
function leafText(form: unknown): string {
  if (typeof form === "string") return form;
  const type = typeOf(form);
  if (type === undefined) return String(form);
  const { value, tag } = form as { value?: unknown; tag?: unknown };
  if (type === "Bytes") return "";
  if (type === "Opaque") return String(tag);
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
