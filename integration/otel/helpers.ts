import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type Checkpoint, CheckpointStore, type StoreOptions } from "forkpoint";
import { onTestFinished } from "vitest";

/** A text that is in every stored value of these tests. */
export const SECRET = "s3cret-value";

/** Makes a new folder for the running test. */
export function folder(): string {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), "forkpoint-otel-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  return path;
}

/** Opens a store that is closed when the running test ends. */
export function open(target: string, options?: StoreOptions): CheckpointStore {
  const store = new CheckpointStore(target, options);
  onTestFinished(() => store.close());
  return store;
}

/** Makes a checkpoint of AgentOS that holds the secret. */
export function checkpoint(id: string, fields: Partial<Checkpoint> = {}): Checkpoint {
  return {
    id,
    graphId: "graph-1",
    runId: "run-1",
    nodeId: "node-1",
    timestamp: 1,
    state: { input: { SECRET }, scratch: {}, artifacts: {}, diagnostics: {} } as Checkpoint["state"],
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
    ...fields,
  };
}

/** Makes a provider of spans, and a function that returns the spans that have ended. */
export function tracing() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return { provider, spans: () => exporter.getFinishedSpans() };
}

/** Makes a provider of metrics, and a function that returns what was measured by the name of the metric. */
export function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const measured = async () => {
    exporter.reset();
    await provider.forceFlush();
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    const metrics = scopes.flatMap(({ scope, metrics }) => metrics.map((metric) => ({ ...metric, scope })));
    return Object.fromEntries(metrics.map((metric) => [metric.descriptor.name, metric]));
  };
  return { provider, measured };
}

/** Returns the error of a promise that must reject. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("the promise was not rejected");
}
