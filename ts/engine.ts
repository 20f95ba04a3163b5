import type { Activity } from "./activity.js";
import type { NativeStore } from "./native.js";
import type { Retention } from "./options.js";
import type { Format } from "./serializer.js";

/** The parts of an open store that the contracts' stores use. */
export interface Engine {
  readonly native: NativeStore;
  readonly format: Format;
  readonly retention: Retention;
  /** Settles when the target is open. */
  readonly ready: Promise<void>;
  /** `close` waits for these operations. */
  readonly activity: Activity;
}
