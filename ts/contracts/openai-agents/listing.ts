/** Lists sessions. */

import type { Engine } from "../../store/engine.js";
import { type Listed, sessionCalls } from "./wire.js";

const PAGE = 1_000;

/** Lists the sessions, page by page. */
export async function* allSessions({ native }: Engine): AsyncGenerator<Listed> {
  for (let before: number | undefined; ;) {
    const page = await sessionCalls.call(native, "sessions", { before, limit: PAGE });
    yield* page;
    if (page.length < PAGE) return;
    before = Number(page.at(-1)!.cursor);
  }
}
