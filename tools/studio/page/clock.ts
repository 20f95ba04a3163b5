// The time, as the page shows it: "3 min ago".
import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  // A hidden page is not updated.
  if (!document.hidden) now.value = Date.now();
}, 5_000);
