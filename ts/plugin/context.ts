/** An open store, for code that reads it from outside. */

import type { Format } from "../bridge/serializer.js";
import type { Engine } from "../store/engine.js";
import type { Store } from "../store/store.js";

export interface Context {
  readonly store: Store;
  readonly engine: Engine;
  /** The user's serializers, by the names that they write. */
  readonly formats: ReadonlyMap<string, Format>;
}
