import { type Expectation, type Group, type Level, type Program, type Report, type Result } from "./types.js";
import { type Upstream } from "./types.js";
/** A contract: its expectations, and what runs in other processes. */
export interface Definition<Store> {
    /** The name of the contract in ids and on the command line. */
    readonly contract: string;
    /** The address of the module whose default export this contract is. Other processes import it. */
    readonly url: string;
    readonly expectations: ReadonlyArray<Expectation<Store>>;
    readonly programs?: Readonly<Record<string, Program<Store>>>;
    /** Runs the suite that the framework publishes. Returns undefined if it is not installed beside the store's module. */
    readonly upstream?: (setting: {
        module: string;
        target: string;
        name: string;
    }) => Promise<Upstream | undefined>;
}
/** Which store is measured. */
export interface Given {
    /** The path or address of the store's module. A relative path is one from the working directory. */
    readonly module: string | URL;
    /** Where the store is. `{dir}` becomes a new folder for each expectation, and `{n}` a new name. Default: "{dir}/store". */
    readonly target?: string;
}
/** What is run. */
export interface Wanted {
    /** Default: all. */
    readonly groups?: readonly Group[];
    /** Default: all. */
    readonly levels?: readonly Level[];
    /** The ids of the expectations. Default: all. */
    readonly only?: readonly string[];
    /** The seed of all random choices. Default: 1. */
    readonly seed?: number;
    /** The time that an expectation may take, in ms. Default: 60,000. */
    readonly timeoutMs?: number;
}
/** What `run` takes beside that. */
export interface RunOptions extends Wanted {
    /** If true, the suite that the framework publishes runs first. Default: false. */
    readonly upstream?: boolean;
    /** Called after each expectation. */
    readonly onResult?: (result: Result, done: number, of: number) => void;
}
/** What `register` needs of a test runner: vitest, node:test, Jest or bun:test. */
export interface Runner {
    describe(name: string, work: () => void): unknown;
    it: ((name: string, ...rest: any[]) => unknown) & {
        skip(name: string, work: () => void): unknown;
    };
}
/** A contract's expectations, and one store that is measured by them. */
export interface Suite {
    /** Registers a test for each expectation with a test runner. A declared skip is a skipped test with its reason. */
    register(runner: Runner, wanted?: Wanted): Promise<void>;
    /** Runs the expectations and returns what has become of them. */
    run(options?: RunOptions): Promise<Report>;
}
/** A contract that stores can be measured by. */
export interface Contract<Store = any> {
    (given: Given): Suite;
    readonly definition: Definition<Store>;
}
/** Makes a contract. */
export declare function contract<Store>(definition: Definition<Store>): Contract<Store>;
