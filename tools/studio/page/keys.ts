// The keyboard shortcuts of the page. The last shown component has priority.
import { useLayoutEffect, useRef } from "preact/hooks";

type Actions = Record<string, () => void>;

const layers: Array<{ current: Actions }> = [];

/** Registers keyboard shortcuts while the component is shown. */
export function useKeys(actions: Actions): void {
  const own = useRef(actions);
  own.current = actions;
  useLayoutEffect(() => {
    layers.push(own);
    return () => void layers.splice(layers.indexOf(own), 1);
  }, []);
}

/** The keys that move through a list. `rows` is its length. */
export function listKeys(move: (by: number) => void, rows: number): Actions {
  const moves = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -rows, End: rows };
  return Object.fromEntries(Object.entries(moves).map(([key, by]) => [key, () => move(by)]));
}

const isField = (element: Element): boolean => element.matches("input:not([type=checkbox]), textarea, select");

/** Returns true for a key that the focused button or link handles itself. */
const isPress = (key: string, element: Element): boolean =>
  (key === "Enter" || key === " ") && element.matches("button, a, summary, [role=tab], input");

export function followKeys(): void {
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!(target instanceof Element)) return;
    if (isField(target)) {
      if (key === "Escape" && target instanceof HTMLElement && target.closest("dialog") === null) {
        target.blur();
        event.preventDefault();
      }
      return;
    }
    // While a dialog is open, the browser handles Escape, and the page's shortcuts are off.
    if (document.querySelector("dialog[open]") !== null) return;
    if (isPress(key, target)) return;
    const action = layers.findLast(({ current }) => Object.hasOwn(current, key))?.current[key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}
