// Fills stores with many short threads of several users.
import { sized } from "../lib/measure.mjs";
import { prose } from "../lib/states.mjs";

/** The checkpoints of a thread: each has one message more. */
export const LENGTH = 3;
/** How many of all threads are listed. */
export const NEWEST = sized(20, 3);
const USERS = 200;
const TOGETHER = 64;

export const threadId = (number) => `thread-${number}`;
export const userOf = (number) => `user-${number % USERS}`;

/** The messages of a thread. */
export const messagesOf = (number, length = LENGTH) =>
  Array.from({ length }, (_, at) => {
    return { role: at % 2 === 0 ? "user" : "assistant", content: prose(60, number * length + at + 1) };
  });

/** Calls `putOne(number)` for each thread, several at the same time. */
export async function fill(threads, putOne) {
  let next = 0;
  const putNext = async () => {
    while (next < threads) await putOne(next++);
  };
  await Promise.all(Array.from({ length: TOGETHER }, putNext));
}

/**
 * Opens sides one after the other, each with what `fillOne(side)` puts into its new database, and calls `work`. Our side
 * does not sync while it is filled. `open(options)` of a side opens its database once more.
 */
export async function filled(database, [name, ...others], fillOne, work, opened = {}) {
  if (name === undefined) return work(opened);
  return database.inPlace(name, async ({ open, bytes }) => {
    const filling = await open({ durability: "off" });
    await fillOne(filling);
    await filling.close();
    const size = await bytes();
    // Both sides begin with empty caches.
    const side = await open();
    const all = { ...opened, [name]: { ...side, size, open } };
    try {
      return await filled(database, others, fillOne, work, all);
    } finally {
      await side.close();
    }
  });
}
