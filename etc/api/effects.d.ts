export {
UnknownDecision
UnknownEffect
} from "./shared.js";
export {
Effect
EffectAttempt
EffectOptions
RunRef
effects
};
export type {
EffectRun
NodeConfig
Once
};
type EffectRun = RunRef | NodeConfig;
interface NodeConfig {
    configurable?: Record<string, any> | undefined;
    metadata?: Record<string, unknown> | undefined;
}
interface Once {
    <T>(run: EffectRun, key: string, effect: (attempt: EffectAttempt) => T | Promise<T>, options?: EffectOptions<T>): Promise<T>;
    list(run: EffectRun): Promise<Effect[]>;
    forget(run: EffectRun, key?: string): Promise<number>;
}
declare function effects(store: object): Once;
