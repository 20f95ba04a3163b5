import type { Expectation } from "../../suite/types.js";
import type { Store } from "./store.js";
export declare const basics: ReadonlyArray<Expectation<Store>>;
