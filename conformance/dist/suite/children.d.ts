import type { Child } from "./types.js";
/** What a trial sends. */
export type FromTrial = {
    kind: "begin";
    suite: string;
    module: string;
    target: string;
    program: string;
    input: unknown;
} | {
    kind: "tell";
    value: unknown;
};
/** What a child sends. */
export type FromChild = {
    kind: "say";
    value: unknown;
} | {
    kind: "done";
    value: unknown;
} | {
    kind: "failed";
    message: string;
};
/** Starts a process that runs a program. */
export declare function start(begin: Omit<Extract<FromTrial, {
    kind: "begin";
}>, "kind">): Child;
