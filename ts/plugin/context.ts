/** An open store, as those use it who look into it. */

import type { Format } from "../bridge/serializer.js";
import type { Engine } from "../store/engine.js";
import type { Store } from "../store/store.js";

export interface Context {
  readonly store: Store;
  readonly engine: Engine;
  /** The serializers of the user, by the name that they write. */
  readonly formats: ReadonlyMap<string, Format>;
}
