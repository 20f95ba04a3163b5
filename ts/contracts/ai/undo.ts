/** Undoes the work of a stopped call on a chat: saves the messages of an earlier version again. */

import type { Undo } from "../../store/host.js";
import { Seen } from "../../store/seen.js";
import { noPlace } from "../../store/undo.js";
import { Snapshot } from "./messages.js";
import { Chats, readChat, readRow } from "./state.js";

/** The place is the version of the chat. */
export const undo: Undo = {
  async placeOf(engine, { run: chat }) {
    const version = (await readRow(engine, chat))?.version ?? 0;
    return version === 0 ? null : String(version);
  },
  async goBack(engine, of, place) {
    const chat = of.run;
    const number = place === null ? 0 : Number(place);
    await new Chats(undefined, new Seen()).change(engine, chat, async ({ row, version }) => {
      if (row === undefined || row.version === number) return undefined;
      const found = number === 0 ? null : await readChat(engine, chat, number);
      if (number !== 0 && found?.number !== number) throw noPlace(of, `version ${number} of the chat was removed`);
      return { snapshot: new Snapshot(found?.messages ?? [], version.messages, engine.format), stream: null };
    });
  },
};
