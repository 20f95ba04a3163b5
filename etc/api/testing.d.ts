export {
EffectCall
KillTestError
killAndResume
killEverywhere
withFaults
};
export type {
AsyncMethod
Attempt
Fault
FaultError
FaultyCalls
KillEverywhereOptions
KillMoment
KillOptions
KillReport
ProgramOptions
RandomNumber
};
type AsyncMethod<T> = {
    [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => PromiseLike<unknown> | AsyncIterable<unknown> ? K : never;
}[keyof T] & string;
interface Attempt {
    lines: string[];
    stderr: string;
    code: number | null;
    signal: string | null;
    killed: KillMoment | null;
    ms: number;
}
type Fault<Method extends string = string> = FaultyCalls<Method> & ({
    reject: ErrorCode | FaultError | Error;
    when?: "before" | "after";
    delayMs?: never;
    kill?: never;
} | {
    delayMs: number;
    when?: never;
    reject?: never;
    kill?: never;
} | {
    kill: true;
    when?: "before" | "after";
    reject?: never;
    delayMs?: never;
});
interface FaultError {
    code: ErrorCode;
    message?: string;
    retryable?: boolean;
    outcome?: "unknown";
}
interface FaultyCalls<Method extends string = string> {
    on: Method | readonly Method[];
    nth?: number | readonly number[];
}
interface KillEverywhereOptions extends ProgramOptions {
    on?: string | readonly string[];
    when?: "before" | "after";
    check?: (report: KillReport, unharmed: KillReport) => void | Promise<void>;
}
type KillMoment = {
    afterLines: number;
} | {
    afterMs: number;
} | {
    on: string | readonly string[];
    nth?: number;
    when?: "before" | "after";
};
interface KillOptions extends ProgramOptions {
    kill: KillMoment | readonly KillMoment[] | ((random: RandomNumber, attempt: number) => KillMoment | null);
    cwd?: string | URL;
    maxAttempts?: number;
    seed?: number;
    check?: (report: KillReport) => void | Promise<void>;
}
interface KillReport {
    attempts: Attempt[];
    last: Attempt;
    lines: string[];
    kills: number;
    seed: number;
}
declare class KillTestError extends Error {
    readonly name: "KillTestError";
    readonly attempts: Attempt[];
    readonly seed: number;
    readonly cwd: string;
}
interface ProgramOptions {
    args?: readonly string[];
    nodeArgs?: readonly string[];
    env?: Readonly<Record<string, string>>;
    timeoutMs?: number;
    signal?: AbortSignal;
}
type RandomNumber = (least: number, most: number) => number;
declare function killAndResume(program: string | URL, options: KillOptions): Promise<KillReport>;
declare function killEverywhere(program: string | URL, options?: KillEverywhereOptions): Promise<{
    unharmed: KillReport;
    reports: KillReport[];
}>;
declare function withFaults<T extends object>(store: T, faults?: ReadonlyArray<Fault<AsyncMethod<T> | EffectCall>>): T;
