/** Recognizes changes of LangGraph's internal values, such as the versions of channels. */

import type { BothWrites, OwnChange } from "../../plugin/traits.js";

/** LangGraph's internal channels. */
const OWN_CHANNEL = /^(?:branch:|join:|__pregel_|__no_writes__$|__input__$|__copy__$|__self__$)/;

/** Returns true for a change of a value that only LangGraph needs. */
export function isOwn(change: OwnChange, writes: BothWrites): boolean {
  switch (change.part) {
    // The id, the time and the versions of the channels.
    case "rest":
      return true;
    case "state":
      return isOwnChannel(change);
    case "writes":
      return isOwnWrite(change, writes);
  }
}

/** The input of a run arrives in `__start__`, and is removed when it was consumed. */
function isOwnChannel({ op, path: [channel] }: OwnChange): boolean {
  return OWN_CHANNEL.test(String(channel)) || (channel === "__start__" && op === "remove");
}

/** An applied write is already part of the next state. */
function isOwnWrite({ op, path: [index, field] }: OwnChange, { before, after }: BothWrites): boolean {
  if (field === "owner") return true;
  const write = (op === "remove" ? before : after)[Number(index)];
  if (write === undefined) return false;
  return (write.owner ?? null) !== null || OWN_CHANNEL.test(String(write.channel));
}
