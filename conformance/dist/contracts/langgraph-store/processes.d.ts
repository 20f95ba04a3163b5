import type { Expectation } from "../../suite/types.js";
import type { Store } from "./store.js";
export declare const processes: ReadonlyArray<Expectation<Store>>;
