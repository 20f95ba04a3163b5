// Fills a saver with short threads of several users.
import { uuid6 } from "../langgraph/packages.mjs";
import { putsTo } from "../lib/puts.mjs";
import { prose } from "../lib/states.mjs";

/** The checkpoints of a thread: each has one message more. */
export const LENGTH = 3;
const USERS = 200;
const TOGETHER = 64;

export const threadId = (number) => `thread-${number}`;
export const userOf = (number) => `user-${number % USERS}`;

/** The messages of a thread. */
export const messagesOf = (number, length = LENGTH) =>
  Array.from({ length }, (_, at) => {
    return { role: at % 2 === 0 ? "user" : "assistant", content: prose(60, number * length + at + 1) };
  });

/** Puts the checkpoints of a thread, the oldest first. */
export async function putThread(saver, thread, number, length = LENGTH) {
  const put = putsTo(saver, uuid6, thread, { metadata: { user: userOf(number) } });
  const messages = messagesOf(number, length);
  for (let step = 1; step <= length; step++) await put({ messages: messages.slice(0, step) }, ["messages"]);
}

/** Puts threads, several at the same time. */
export async function fill(saver, threads) {
  let next = 0;
  const putNext = async () => {
    while (next < threads) {
      const number = next++;
      await putThread(saver, threadId(number), number);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, putNext));
}

/** Opens sides one after the other, each with what `fillOne(saver)` puts into its new database, and calls `work`. */
export async function filled(database, [name, ...others], fillOne, work, opened = {}) {
  if (name === undefined) return work(opened);
  return database.inPlace(name, async ({ open, bytes }) => {
    const filling = await open();
    await fillOne(filling.saver);
    await filling.close();
    const size = await bytes();
    // Both sides begin with empty caches.
    const side = await open();
    const all = { ...opened, [name]: { ...side, size } };
    try {
      return await filled(database, others, fillOne, work, all);
    } finally {
      await side.close();
    }
  });
}
