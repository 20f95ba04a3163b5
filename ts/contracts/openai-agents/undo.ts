/** Undoes the work of a stopped run: removes the items that a session has got since. */

import { isOvertaken } from "../../bridge/errors.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Undo } from "../../store/host.js";
import { noPlace } from "../../store/undo.js";
import { newVersion } from "../shared/version.js";
import { sessionCalls } from "./wire.js";

interface Size {
  version: number;
  total: number;
}

/** Null: there is no session. */
const sizeOf = (native: NativeStore, session: string): Promise<Size | null> =>
  sessionCalls.find(native, "read", { session, limit: 0 }, ({ version, total }) => ({ version, total }));

/** The place is the number of the session's items. */
export const undo: Undo = {
  async placeOf({ native }, { run: session }) {
    const found = await sizeOf(native, session);
    return found && String(found.total);
  },
  async goBack({ native }, of, place) {
    const session = of.run;
    for (;;) {
      const found = await sizeOf(native, session);
      if (found === null && place === null) return;
      const { version: seen, total } = found ?? { version: 0, total: 0 };
      if (total < Number(place))
        throw noPlace(of, `its session had ${place} items when it began, and now has ${total}`);
      const row = { session, version: newVersion(), seen, savedAt: Date.now() };
      const change = { row, forget: true, keep: Number(place), items: undefined, operation: undefined };
      try {
        if (place === null) await sessionCalls.call(native, "remove", { session, seen });
        else await sessionCalls.call(native, "change", change);
        return;
      } catch (error) {
        if (!isOvertaken(error)) throw error;
      }
    }
  },
};
