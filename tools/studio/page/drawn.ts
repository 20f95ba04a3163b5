// Loads drawing.ts at its first use.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const drawing = signal<typeof import("./drawing.js") | null>(null);

/** Returns the module that draws. Null: it is not yet loaded. */
export function useDrawing(): typeof import("./drawing.js") | null {
  useEffect(() => void import("./drawing.js").then((loaded) => (drawing.value = loaded)), []);
  return drawing.value;
}
