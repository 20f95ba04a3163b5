// The address of the list of runs as it was left, with its filters.
import { effect } from "@preact/signals";
import { type Address, address } from "./route.js";

let last: Address = { page: "runs", parameters: {} };

effect(() => {
  if (address.value.page === "runs") last = address.value;
});

export const backToRuns = (): Address => last;
