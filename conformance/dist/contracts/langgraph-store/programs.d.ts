import type { Program } from "../../suite/types.js";
import type { Store } from "./store.js";
export declare const programs: Record<string, Program<Store>>;
