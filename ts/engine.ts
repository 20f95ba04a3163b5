import type { Activity } from "./activity.js";
import type { NativeStore } from "./native.js";
import type { Retention } from "./options.js";
import type { Format } from "./serializer.js";

/** What the contracts' objects use of an open store. */
export interface Engine {
  readonly native: NativeStore;
  readonly format: Format;
  readonly retention: Retention;
  /** Settles when the target is open. */
  readonly ready: Promise<void>;
  /** What the store's closing waits for. */
  readonly activity: Activity;
}
