/** Lists sessions. */

import type { Engine } from "../../store/engine.js";
import { batches } from "../../store/page.js";
import { type Listed, sessionCalls } from "./wire.js";

/** Lists the sessions, page by page. */
export async function* allSessions({ native }: Engine): AsyncGenerator<Listed> {
  const read = (before: number | undefined, limit: number) => sessionCalls.call(native, "sessions", { before, limit });
  for await (const sessions of batches(read)) yield* sessions;
}
