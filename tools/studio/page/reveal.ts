// Shows the value in a tree that the address names, for links from a search.
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { formatPath, parsePath } from "../../../ts/bridge/json-form/path.js";
import type { Match, Step } from "../forms.js";
import { type RunRef, api } from "./api.js";
import { address } from "./route.js";
import { rowsOf } from "./tree.js";

interface Tree {
  view: RunRef;
  id: string;
  part: string;
  form: unknown;
  opened: ReadonlySet<string>;
  open: Signal<ReadonlySet<string> | null>;
  chosen: Signal<string | null>;
}

function stepsOf(path: string): Step[] | null {
  try {
    const steps = parsePath(path);
    return steps.every((step) => typeof step !== "object") ? (steps as Step[]) : null;
  } catch {
    return null;
  }
}

/**
 * Opens the rows that lead to the value, and selects it. If the value did not come with the state, it is loaded alone
 * and returned as the only match. Null: the tree is shown as usual.
 */
export function useRevealed({ view, id, part, form, opened, open, chosen }: Tree): Signal<Match[] | null> {
  const alone = useSignal<Match[] | null>(null);
  const { path, part: of = "state" } = address.value.parameters;
  useLayoutEffect(() => {
    alone.value = null;
    const steps = path === undefined || of !== part ? null : stepsOf(path);
    if (steps === null || steps.length === 0) return;
    const key = formatPath(steps);
    const next = new Set(opened);
    for (let end = 1; end < steps.length; end++) next.add(formatPath(steps.slice(0, end)));
    chosen.value = key;
    if (rowsOf(form, { loaded: new Map(), open: next }).some((row) => row.id === key)) {
      open.value = next;
      return;
    }
    let isGone = false;
    api.part(view, id, part, key).then(
      ({ state }) => {
        if (!isGone) alone.value = [{ path: steps, value: state }];
      },
      // This checkpoint has no such value.
      () => {},
    );
    return () => void (isGone = true);
  }, [path, of, part, id, form]);
  return alone;
}
