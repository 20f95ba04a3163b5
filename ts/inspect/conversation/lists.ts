/** Finds the lists of messages in a state. */

import { containerOf, itemsOf, type Place, placeOf, stepsTo } from "../../bridge/json-form/form.js";
import { formatPath } from "../../bridge/json-form/path.js";
import { isMessage } from "./envelope.js";
import { Reader } from "./reader.js";

/** A list of messages in a state. */
export interface MessageList {
  path: string;
  entries: readonly unknown[];
}

/** The maximum depth of a list, and the maximum number of searched values. */
const [DEEPEST, MOST] = [4, 20_000];

/** The number of examined entries at each end of a list. */
const SAMPLE = 8;

/** Finds lists with messages as at least half of the entries. The first is the best: `messages`, else the longest. */
export function listsIn(reader: Reader, root: unknown): MessageList[] {
  const found: MessageList[] = [];
  let left = MOST;
  let level: Array<{ form: unknown; place: Place | null }> = [{ form: root, place: null }];
  for (let depth = 0; depth <= DEEPEST && level.length > 0; depth++) {
    const next: typeof level = [];
    for (const { form, place } of level) {
      if (left-- <= 0) return sorted(found);
      if (Array.isArray(form) && isOfMessages(reader, form)) {
        found.push({ path: formatPath(stepsTo(place)), entries: form });
        continue;
      }
      const kind = containerOf(form);
      if (kind === null || (kind === "List" && (form as unknown[]).length > MOST)) continue;
      for (const { steps, value } of itemsOf(form as object, kind)) {
        if (typeof value === "object" && value !== null) next.push({ form: value, place: placeOf(steps, place) });
        if (next.length > left) break;
      }
    }
    level = next;
  }
  return sorted(found);
}

function isOfMessages(reader: Reader, list: readonly unknown[]): boolean {
  const some = list.length <= 2 * SAMPLE ? list : [...list.slice(0, SAMPLE), ...list.slice(-SAMPLE)];
  const messages = some.filter((each) => isMessage(reader, each)).length;
  return messages > 0 && messages * 2 >= some.length;
}

function sorted(lists: MessageList[]): MessageList[] {
  const rank = ({ path }: MessageList) => (path === "messages" ? 0 : 1);
  return lists.toSorted((a, b) => rank(a) - rank(b) || b.entries.length - a.entries.length);
}

/** Returns true if a state has messages. */
export const hasMessages = (form: unknown): boolean => listsIn(new Reader(form), form).length > 0;
