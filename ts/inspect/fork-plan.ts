/** What the fork of a checkpoint is made from. */

import type { Context } from "./context.js";
import type { FoundCheckpoint, Key, Row } from "./wire.js";

/** A fork that is about to be stored. */
export interface Plan {
  context: Context;
  key: Key;
  row: Row;
  found: FoundCheckpoint;
  /** Returns the edited state, or undefined if it stays as it is. */
  edit: (state: unknown) => { form: unknown } | undefined;
  as: string | undefined;
  dryRun: boolean;
}
