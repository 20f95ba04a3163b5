import { TracerProvider, MeterProvider } from "@opentelemetry/api";
interface InstrumentOptions {
    tracerProvider?: TracerProvider | undefined;
    meterProvider?: MeterProvider | undefined;
}
declare function instrument(options?: InstrumentOptions): () => void;
export { instrument };
export type { InstrumentOptions };
