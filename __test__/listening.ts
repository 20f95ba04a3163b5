// Subscribers of all channels that tell about calls.
import { channel, subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import type { CallContext, CallFailure } from "forkpoint";
import { onTestFinished } from "vitest";

export const kinds = ["open", "save", "read", "prune"] as const;
const events = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

/** What a subscriber has heard. `before` is a copy of the context as it was then. */
export interface Heard {
  kind: (typeof kinds)[number];
  event: (typeof events)[number];
  context: CallContext;
  before: CallContext;
}

/** What the subscribers of a test have heard. */
export interface Listening {
  heard: Heard[];
  /** What `forkpoint:busy` and `forkpoint:corrupt` have published. */
  failures: Array<CallFailure & { channel: string }>;
  /** The contexts of the calls that have ended, without those of `forkpoint:open`. */
  ended(kind?: Heard["kind"]): CallContext[];
  /** One line for each call that has ended: see {@link line}. Forgets what was heard. */
  lines(): string[];
}

/** Subscribes to all channels until the running test ends. */
export function listen(): Listening {
  const heard: Heard[] = [];
  const failures: Listening["failures"] = [];
  for (const kind of kinds) {
    for (const event of events) {
      const hear = (message: unknown) => {
        const context = message as CallContext;
        heard.push({ kind, event, context, before: { ...context } });
      };
      const heardFrom = tracingChannel(`forkpoint:${kind}`)[event];
      heardFrom.subscribe(hear);
      onTestFinished(() => void heardFrom.unsubscribe(hear));
    }
  }
  for (const name of ["forkpoint:busy", "forkpoint:corrupt"]) {
    const hear = (message: unknown) => void failures.push({ ...(message as CallFailure), channel: name });
    subscribe(name, hear);
    onTestFinished(() => void unsubscribe(name, hear));
  }
  const ended = (wanted?: Heard["kind"]) =>
    heard
      .filter(({ kind, event }) => event === "asyncEnd" && (wanted === undefined ? kind !== "open" : kind === wanted))
      .map(({ context }) => context);
  const lines = () =>
    heard
      .splice(0)
      .filter(({ kind, event }) => event === "asyncEnd" && kind !== "open")
      .map(({ kind, context }) => line(kind, context));
  return { heard, failures, ended, lines };
}

/** Describes a call: `save put langgraph thread|ns|id bytes`, `read get agentos |||-> missing`. Null is left out. */
function line(kind: string, { operation, space, run, ns, id, bytes, result, error }: CallContext): string {
  const subject = [run, ns, id].map((part) => part ?? "").join("|");
  const size = bytes === null ? "" : bytes > 0 ? " bytes" : " empty";
  const code = (error as { code?: string } | undefined)?.code;
  const outcome = code ?? result;
  return `${kind} ${operation} ${space ?? "-"} ${subject}${size}${outcome === undefined ? "" : ` -> ${outcome}`}`;
}

/** All that the contexts and failures contain, as one text. */
export function everything({ heard, failures }: Listening): string {
  const seen = new WeakSet<object>();
  return JSON.stringify([heard, failures], (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return "seen";
    seen.add(value);
    return value instanceof Error
      ? { ...value, stack: value.stack, message: value.message, cause: value.cause }
      : value;
  });
}

/** True if nobody listens to the channel. */
export const isQuiet = (name: string): boolean => !channel(name).hasSubscribers;
