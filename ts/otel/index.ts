/**
 * Turns the messages of the diagnostics channels into spans and metrics of OpenTelemetry: see `ts/bridge/channels.ts`.
 * Needs no addon, so that a program can load it before everything else.
 */

import "../bridge/bundled.js";
import type {
  Attributes,
  Histogram,
  Meter,
  MeterProvider,
  MetricOptions,
  Span,
  TracerProvider,
} from "@opentelemetry/api";
import { performance } from "node:perf_hooks";
import { type Kind, channels, failures, type CallContext, type CallFailure } from "../bridge/channels.js";
import { type StrandedRuns, strandings } from "../bridge/strandings.js";
import { type Sweep, sweeps } from "../bridge/sweeps.js";
import { isForkpointError, messageOf, show, typeError } from "../bridge/errors.js";
import { missingPeer } from "../bridge/peer.js";
import { type OptionParser, readRecord } from "../store/options.js";

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Makes the spans. Default: the global provider, even if it is set later. */
  tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: the global provider, even if it is set later. */
  meterProvider?: MeterProvider | undefined;
}

const api = loadApi();

function loadApi(): typeof import("@opentelemetry/api") {
  try {
    return require("@opentelemetry/api");
  } catch (cause) {
    const more = ", and install the OpenTelemetry SDK that your program uses";
    throw missingPeer("forkpoint/otel", "@opentelemetry/api", cause, more);
  }
}

/** The name and the version under which spans and metrics are recorded. */
const scope = ["forkpoint", (require("../../package.json") as { version: string }).version] as const;

/** The buckets of a call's duration, in seconds, from OpenTelemetry's conventions. */
const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
/** From 1 to 1,024 saves. */
const SAVES = Array.from({ length: 11 }, (_, power) => 2 ** power);
/** From 256 bytes to 64 MiB. */
const BYTES = Array.from({ length: 10 }, (_, power) => 256 * 4 ** power);

function metricsOf(provider: MeterProvider) {
  const meter = provider.getMeter(...scope);
  const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
  const counter = (name: string, options: MetricOptions) => meter.createCounter(name, options);
  return {
    duration: histogram("db.client.operation.duration", "s", "Duration of store calls", SECONDS),
    batch: histogram("forkpoint.commit.batch", "{save}", "Number of saves in one commit", SAVES),
    size: histogram("forkpoint.checkpoint.size", "By", "Serialized size of the saved data", BYTES),
    pruned: counter("forkpoint.pruned", { unit: "{checkpoint}", description: "Pruned checkpoints" }),
    swept: counter("forkpoint.swept", { unit: "{checkpoint}", description: "Checkpoints deleted in the background" }),
    sweepTime: counter("forkpoint.sweep.time", { unit: "s", description: "Time of deleting in the background" }),
    corrupt: counter("forkpoint.corrupt", { unit: "{read}", description: "Reads that found damaged data" }),
    // An SDK before 1.26 has no gauges.
    stranded: (meter as Partial<Meter>).createGauge?.("forkpoint.runs.stranded", {
      unit: "{run}",
      description: "Open runs that do not fit the version of their program that started last",
    }),
  };
}

/**
 * Returns a function that returns `make(provider)` for the current provider. It calls `make` again only if the provider
 * has changed.
 */
function following<P, T>(current: () => P, make: (provider: P) => T): () => T {
  let last: { provider: P; made: T } | undefined;
  return () => {
    const provider = current();
    if (last?.provider !== provider) last = { provider, made: make(provider) };
    return last.made;
  };
}

/** The subscribers that record with a pair of providers. Undefined: the global provider, whenever it is set. */
class Recorder {
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  /** The number of `instrument` calls that use this recorder. */
  users = 0;
  readonly #tracer;
  readonly #metrics;
  readonly #calls = new WeakMap<CallContext, { span: Span; began: number }>();
  readonly #subscribers = [
    ...Object.entries(channels).flatMap(([name, { start, asyncEnd }]) => [
      { channel: start, hear: (context: unknown) => this.#begin(name as Kind, context as CallContext) },
      { channel: asyncEnd, hear: (context: unknown) => this.#end(name as Kind, context as CallContext) },
    ]),
    { channel: failures.CORRUPT, hear: (failure: unknown) => this.#fail(failure as CallFailure) },
    { channel: sweeps, hear: (sweep: unknown) => this.#sweep(sweep as Sweep) },
    { channel: strandings, hear: (stranded: unknown) => this.#strand(stranded as StrandedRuns) },
  ];

  constructor({ tracerProvider, meterProvider }: InstrumentOptions) {
    this.tracerProvider = tracerProvider;
    this.meterProvider = meterProvider;
    this.#tracer = following(
      () => tracerProvider ?? api.trace.getTracerProvider(),
      (provider) => provider.getTracer(...scope),
    );
    this.#metrics = following(() => meterProvider ?? api.metrics.getMeterProvider(), metricsOf);
  }

  subscribe(): void {
    for (const { channel, hear } of this.#subscribers) channel.subscribe(hear);
  }

  unsubscribe(): void {
    for (const { channel, hear } of this.#subscribers) channel.unsubscribe(hear);
  }

  #fail({ space }: CallFailure): void {
    this.#metrics().corrupt.add(1, known({ "forkpoint.space": space }));
  }

  #sweep({ removed, workMs }: Sweep): void {
    this.#metrics().swept.add(removed);
    this.#metrics().sweepTime.add(workMs / 1000);
  }

  #strand({ space, program, runs }: StrandedRuns): void {
    this.#metrics().stranded?.record(runs, { "forkpoint.space": space, "forkpoint.program": program });
  }

  #begin(kind: Kind, context: CallContext): void {
    const { space, run, id, backend, target } = context;
    const options = {
      kind: backend === "postgres" ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
      attributes: known({
        ...callOf(context),
        ...(backend === "postgres" && serverOf(target)),
        "forkpoint.space": space,
        "forkpoint.run.id": run,
        "forkpoint.checkpoint.id": id,
        "gen_ai.conversation.id": run,
      }),
    };
    const span = this.#tracer().startSpan(`forkpoint.${kind}`, options, api.context.active());
    this.#calls.set(context, { span, began: performance.now() });
  }

  #end(kind: Kind, context: CallContext): void {
    const call = this.#calls.get(context);
    if (call === undefined) return;
    const { error, space, bytes, result, batch, operation } = context;
    // An effect is not a checkpoint.
    const isCheckpoint = !operation.startsWith("effect");
    const failed = error === undefined ? {} : { "error.type": typeOf(error) };
    if (bytes !== null && isCheckpoint) call.span.setAttribute("forkpoint.checkpoint.size", bytes);
    if (error !== undefined) {
      call.span.setAttributes(failed);
      call.span.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(error) });
    }
    const metrics = this.#metrics();
    const ofSpace = known({ "forkpoint.space": space });
    const seconds = (performance.now() - call.began) / 1000;
    metrics.duration.record(seconds, { ...callOf(context), ...failed, ...ofSpace });
    if (kind === "save" && bytes !== null && error === undefined && isCheckpoint) metrics.size.record(bytes, ofSpace);
    if (batch !== undefined) metrics.batch.record(batch, ofSpace);
    if (kind === "prune" && typeof result === "number" && result > 0 && isCheckpoint)
      metrics.pruned.add(result, ofSpace);
    call.span.end();
  }
}

function callOf({ backend, operation }: CallContext): Attributes {
  // OpenTelemetry's name for Postgres.
  const system = backend === "postgres" ? "postgresql" : backend;
  return { "db.system.name": system, "db.operation.name": operation };
}

/** Returns the address of a server, from the target of a store. Several servers become one text without ports. */
function serverOf(target: string): Attributes {
  const servers = / at (.*?:\d+)\//.exec(target)?.[1];
  if (servers === undefined) return {};
  const port = /^[^,]*:(\d+)$/.exec(servers)?.[1];
  const address = servers.replaceAll(/:\d+(?=,|$)/g, "");
  return { "server.address": address, ...(port !== undefined && { "server.port": Number(port) }) };
}

/** Returns the code of an error or, for an error of another package, the name of its class. */
function typeOf(error: unknown): string {
  if (isForkpointError(error)) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Leaves out the attributes that are null. */
function known(attributes: Record<string, Attributes[string] | null>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null)) as Attributes;
}

const provider =
  (method: "getTracer" | "getMeter"): OptionParser<unknown> =>
  (value, name) => {
    if (typeof (value as Record<string, unknown> | null)?.[method] === "function") return value;
    throw typeError(`${name} must be a provider of OpenTelemetry, with the method ${method}(), but is ${show(value)}`);
  };

const instrumentOptions = { tracerProvider: provider("getTracer"), meterProvider: provider("getMeter") };

const recorders = new Set<Recorder>();

/**
 * Records every call of every store of this process as a span and in metrics.
 *
 * A span is called `forkpoint.open`, `forkpoint.save`, `forkpoint.read` or `forkpoint.prune`. Its parent is the active
 * span at the call's beginning. docs/observability.md lists the attributes and metrics. Ids are attributes of spans,
 * never of metrics. Stored values are never recorded.
 *
 * Call it once, before or after stores are opened. A second call with the same providers does not record twice.
 *
 * @returns a function that ends the recording. Calls in progress at that time are not recorded.
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
export function instrument(options?: InstrumentOptions): () => void {
  const read = readRecord(options, "options", instrumentOptions) as InstrumentOptions;
  const same = ({ tracerProvider, meterProvider }: Recorder) =>
    tracerProvider === read.tracerProvider && meterProvider === read.meterProvider;
  // A second call with the same providers would record everything twice.
  const recorder = [...recorders].find(same) ?? new Recorder(read);
  if (recorder.users === 0) recorder.subscribe();
  recorder.users += 1;
  recorders.add(recorder);
  let active = true;
  return () => {
    if (!active) return;
    active = false;
    recorder.users -= 1;
    if (recorder.users > 0) return;
    recorder.unsubscribe();
    recorders.delete(recorder);
  };
}
