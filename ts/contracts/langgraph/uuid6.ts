/** Makes ids as LangGraph does: UUIDs of version 6, which sort by time. */

import { randomBytes } from "node:crypto";

/** The time of a UUID counts from 1582-10-15, in steps of 100 ns. */
const SINCE_1582 = 122_192_928_000_000_000n;

const UUID6 = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/;

/** Returns a new id that sorts after another one. `now` is in ms since the epoch. */
export function laterUuid(id: string, now: number): string {
  const found = UUID6.exec(id);
  const before = found === null ? 0n : BigInt(`0x${found[1]}${found[2]}${found[3]}`);
  const time = BigInt(Math.trunc(now)) * 10_000n + SINCE_1582;
  const digits = (time > before ? time : before + 1n).toString(16).padStart(15, "0");
  const random = randomBytes(8);
  random[0] = (random[0]! & 0x3f) | 0x80;
  const rest = random.toString("hex");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-6${digits.slice(12)}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}
