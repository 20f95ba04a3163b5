// Loads drawing.ts when it is needed first.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const drawing = signal<typeof import("./drawing.js") | null>(null);

/** Returns what draws. Null: it is not loaded yet. */
export function useDrawing(): typeof import("./drawing.js") | null {
  useEffect(() => void import("./drawing.js").then((loaded) => (drawing.value = loaded)), []);
  return drawing.value;
}
