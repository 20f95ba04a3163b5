/** Calls that are held back for a moment, to be sent together with a later call. */

const senders = new Set<() => void>();

/** Registers a function that sends calls which are held back. Registering it again changes nothing. */
export function holdBack(send: () => void): void {
  senders.add(send);
}

/** Removes a function, because it has nothing left to send. */
export function holdNothingBack(send: () => void): void {
  senders.delete(send);
}

/** Sends all calls that are held back. Called before reads and removals, which must not overtake earlier saves. */
export function sendHeldBack(): void {
  for (const send of senders) send();
}
