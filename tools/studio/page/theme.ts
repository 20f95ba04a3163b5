// The theme: light or dark. Follows the system until the user chooses.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEY = "forkpoint-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

const chosen = signal<Theme | null>(stored());
const ofSystem = signal<Theme>(system.matches ? "dark" : "light");

export const theme = (): Theme => chosen.value ?? ofSystem.value;

function show(): void {
  document.documentElement.style.colorScheme = chosen.value ?? "";
}

export function followTheme(): void {
  system.addEventListener("change", ({ matches }) => (ofSystem.value = matches ? "dark" : "light"));
  show();
}

/** Switches between light and dark. If the result is the system's theme, the page follows the system again. */
export function turnTheme(): void {
  const next: Theme = theme() === "dark" ? "light" : "dark";
  chosen.value = next === ofSystem.value ? null : next;
  try {
    if (chosen.value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen.value);
  } catch {
    // Without storage, the choice is kept as long as the page.
  }
  show();
}
