export {
instrument
};
export type {
InstrumentOptions
};
interface InstrumentOptions {
    tracerProvider?: TracerProvider | undefined;
    meterProvider?: MeterProvider | undefined;
}
declare function instrument(options?: InstrumentOptions): () => void;
