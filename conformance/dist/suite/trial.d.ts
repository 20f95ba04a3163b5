import type { Expectation, Figure, StoreModule } from "./types.js";
/** What a trial needs of its suite. */
export interface Setting<Store> {
    /** The address of the suite's module. */
    readonly suite: string;
    /** The address of the store's module. */
    readonly module: string;
    readonly store: StoreModule<Store>;
    readonly target: string;
    readonly seed: number;
    /** The time that an expectation may take, in ms. */
    readonly timeoutMs: number;
}
/** Checks one expectation on an empty store. Rejects if the store does not meet it. */
export declare function attempt<Store>({ id, check }: Expectation<Store>, { suite, module, store: { open, close, wipe, bytes }, target: pattern, seed, timeoutMs }: Setting<Store>): Promise<Figure[]>;
