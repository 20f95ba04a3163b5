/** Undoes the work of a stopped run: removes the items that a session has got since. */

import { crypto } from "../../bridge/crypto.js";
import { isOvertaken } from "../../bridge/errors.js";
import type { NativeStore } from "../../bridge/native.js";
import type { Undo } from "../../store/host.js";
import { noPlace } from "../../store/undo.js";
import { newVersion } from "../shared/version.js";
import { sessionCalls } from "./wire.js";

/** A session with its last items. */
interface Found {
  version: number;
  total: number;
  hashes: string[];
}

/** Null: there is no session. */
const find = (native: NativeStore, session: string, limit: number): Promise<Found | null> =>
  sessionCalls.find(native, "read", { session, limit }, ({ version, total, items }, part) => {
    const hash = ({ tag, bytes }: ReturnType<typeof part>) =>
      crypto().createHash("sha256").update(tag).update(bytes).digest("base64url");
    return { version, total, hashes: items.map((item) => hash(part(item))) };
  });

/** The place is the number of the session's items, and the hash of the last one, which the work may replace. */
export const undo: Undo = {
  async placeOf({ native }, { run: session }) {
    const found = await find(native, session, 1);
    return found && `${found.total} ${found.hashes[0] ?? ""}`;
  },
  async goBack({ native }, of, place) {
    const session = of.run;
    const [length, last = ""] = (place ?? "0").split(" ");
    const keep = Number(length);
    for (;;) {
      const size = await find(native, session, 0);
      if (size === null && keep === 0) return;
      const found = size && (await find(native, session, Math.max(size.total - keep + 1, 1)));
      const isThere =
        found !== null && (keep === 0 || found.hashes[found.hashes.length - 1 - found.total + keep] === last);
      if (!isThere) throw noPlace(of, `its session no longer has the ${keep} items with which it began`);
      const { version: seen, total } = found;
      if (place !== null && total === keep) return;
      const row = { session, version: newVersion(), seen, savedAt: Date.now() };
      const change = { row, forget: true, keep, items: undefined, operation: undefined };
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
