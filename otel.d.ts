/** Spans and metrics of OpenTelemetry. See docs/observability.md. */

import type { MeterProvider, TracerProvider } from "@opentelemetry/api";

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Makes the spans. Default: the global one, also if it is set later. */
  tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: the global one, also if it is set later. */
  meterProvider?: MeterProvider | undefined;
}

/**
 * Records every call of every store of this process as a span and in metrics.
 *
 * A span is called `forkpoint.open`, `forkpoint.save`, `forkpoint.read` or `forkpoint.prune`. Its parent is the span that
 * is active when the call begins. The names of attributes and metrics are in docs/observability.md. Ids are attributes of
 * spans and never of metrics. Nothing that is stored is recorded.
 *
 * Call it once, before or after stores are opened. A second call with the same providers records nothing twice.
 *
 * @returns a function that ends the recording. Calls that are under way then are not recorded.
 * @throws TypeError for a wrong option.
 * @example
 * ```ts
 * import { trace } from "@opentelemetry/api";
 * import { instrument } from "forkpoint/otel";
 *
 * const stop = instrument({ tracerProvider: trace.getTracerProvider() });
 * // Later, if you want to stop before the process ends:
 * stop();
 * ```
 */
export function instrument(options?: InstrumentOptions): () => void;
