// The time, as the page shows it: "3 min ago".
import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  // A page that nobody sees does not change.
  if (!document.hidden) now.value = Date.now();
}, 5_000);
