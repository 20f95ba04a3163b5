/** The entry `forkpoint/effects`: effects that run once. */

import "../bridge/bundled.js";
import { readingArgument, show, typeError } from "../bridge/errors.js";
import type { Effect, EffectAttempt, EffectOptions } from "../store/effect-options.js";
import type { EffectPlace } from "../store/effect-places.js";
import { type GraphRun, runIn } from "../store/graph-run.js";
import { StoreHandle } from "../store/handle.js";
import { handleOf } from "../store/handle-of.js";
import { type RunRef, readRun } from "../store/run-ref.js";
import { RunEffects } from "../store/run-effects.js";
import { Store } from "../store/store.js";
import { text } from "../store/ids.js";

export type { Effect, EffectAttempt, EffectOptions, UnknownDecision, UnknownEffect } from "../store/effect-options.js";
export type { RunRef } from "../store/run-ref.js";

/** Identifies a run: a reference, or the config that LangGraph passes to a node, a task or a tool. */
export type EffectRun = RunRef | NodeConfig;

/** The config of a node, a task or a tool of LangGraph. */
export interface NodeConfig {
  configurable?: Record<string, any> | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Runs effects of a store's runs. See {@link effects}. */
export interface Once {
  /**
   * Runs a function once for each key of a run, and stores its result before it resolves. A later call gets the stored
   * result, even in another process, in a later fork, or when a node runs again. If another process is running the
   * function, the call waits for the result.
   *
   * The key names the effect in its run. The nodes of a run share their keys. A repeated effect needs a different key
   * each time, such as `"mail 3"`.
   *
   * In a tool of LangChain, `run` is the second argument of the tool. In middleware, it is the `runtime`. A model may
   * call a tool several times in a step. Use a key such as `"charge order 7"` if the effect must happen once, however
   * often the model calls the tool. Use the id of the call, `runtime.toolCallId`, if each call must have its effect. If
   * the model runs again after a crash, its calls have other ids.
   *
   * If the function throws, the promise rejects with its error, and the next call runs it again. The result is returned
   * in its stored form: a class without `toJSON` becomes a plain object.
   *
   * @throws TypeError for a wrong argument. ForkpointError `CONFLICT` with `outcome: "unknown"` if the effect may have
   *   happened and `onUnknown` says `"fail"`. `INVALID_ARGUMENT` if the result cannot be stored, or if the key is empty
   *   or longer than 1,024 bytes.
   * @example
   * ```ts
   * const receipt = await once(config, "charge order 7", ({ idempotencyKey }) =>
   *   stripe.charges.create({ amount: 4200, currency: "eur" }, { idempotencyKey }),
   * );
   * ```
   */
  <T>(
    run: EffectRun,
    key: string,
    effect: (attempt: EffectAttempt) => T | Promise<T>,
    options?: EffectOptions<T>,
  ): Promise<T>;
  /**
   * Lists the effects of a run, the first begun first.
   * @example for (const { key, state } of await once.list({ space: "langgraph", run: "order-7" })) console.log(key, state);
   */
  list(run: EffectRun): Promise<Effect[]>;
  /**
   * Deletes the effects of a run with this key, or all of them. The next call then runs them again. Resolves to their
   * number.
   * @example await once.forget({ space: "langgraph", run: "order-7" }, "charge order 7");
   */
  forget(run: EffectRun, key?: string): Promise<number>;
}

/**
 * Returns a function that runs effects of a store's runs once: payments, mails, calls of other systems. `store` is any
 * framework's store, or an open store.
 *
 * @throws TypeError if the value is not a store of this package.
 * @example
 * ```ts
 * import { effects } from "forkpoint/effects";
 *
 * const once = effects(saver);
 * const pay = async ({ order }: State, config: LangGraphRunnableConfig) => ({
 *   receipt: await once(config, `charge order ${order}`, ({ idempotencyKey }) => charge(order, idempotencyKey)),
 * });
 * ```
 */
export function effects(store: object): Once {
  const isStore = readingArgument("store", () => store instanceof Store);
  const handle = isStore ? new StoreHandle(store, undefined, { name: "effects" }) : handleOf(store);
  if (handle === undefined) {
    throw typeError(
      `store must be a store of forkpoint, such as a ForkpointSaver or what openStore() returns, but is ${show(store)}`,
    );
  }
  const all = handle.effects();
  return Object.assign(
    <T>(
      run: EffectRun,
      key: string,
      effect: (attempt: EffectAttempt) => T | Promise<T>,
      options?: EffectOptions<T>,
    ): Promise<T> => promised(() => all.once(() => rememberedIn(handle, placeOf(run)), key, effect, options)),
    {
      list: (run: EffectRun) => promised(() => all.list(placeOf(run).of)),
      forget: (run: EffectRun, key?: string) =>
        promised(() => {
          const { of, earlier } = placeOf(run);
          return all.forget(of, key === undefined ? undefined : text(key, "key"), earlier);
        }),
    },
  );
}

/** Turns an error of the arguments into a rejection. */
async function promised<T>(work: () => Promise<T>): Promise<T> {
  return work();
}

/** Adds what the store's handle knows of a run. The config of LangGraph has told it already. */
function rememberedIn(handle: StoreHandle, place: EffectPlace): EffectPlace {
  return place.at === undefined ? { ...place, ...handle.remembered(place.of) } : place;
}

function placeOf(run: EffectRun): EffectPlace {
  const { configurable, isConfig } = readingArgument("run", () => ({
    configurable: (run as NodeConfig | null | undefined)?.configurable,
    isConfig: typeof run === "object" && run !== null && !("space" in run),
  }));
  if (configurable !== undefined) return inLanggraph(configurable, run as NodeConfig);
  if (isConfig) {
    throw typeError(
      "run must be a reference such as { space, run }, or the config of a node, a task or a tool that runs in a thread. Such a " +
        "config has configurable.thread_id",
    );
  }
  return { of: readRun(run) };
}

/** The effects that show whether a run was deleted. Undefined if its checkpoints show it. */
function earlierIn(run: GraphRun): RunEffects | undefined {
  if (run.stored || run.incarnation !== undefined) return undefined;
  return (run.effects ??= new RunEffects());
}

/** The thread of a config. In a subgraph, it has the checkpoint of the thread itself. */
function inLanggraph(configurable: Record<string, unknown>, { metadata }: NodeConfig): EffectPlace {
  return readingArgument("config", () => {
    const { thread_id: run, checkpoint_map: checkpoints } = configurable;
    if (typeof run !== "string" || run === "")
      throw typeError(`config.configurable.thread_id must be the id of a thread, but is ${show(run)}`);
    const of = readRun({ space: "langgraph", run });
    const at = (checkpoints as Record<string, unknown> | undefined)?.[""];
    if (typeof at !== "string") return { of };
    const graphRun = runIn(configurable);
    const begun = {
      stored: graphRun?.stored === true,
      incarnation: graphRun?.incarnation,
      earlier: graphRun && earlierIn(graphRun),
    };
    const ready = graphRun?.settled?.() ?? (graphRun?.stored === false ? graphRun.storing : undefined);
    if (graphRun?.follows === true) return { of, at, joins: "run", ...begun, ...(ready !== undefined && { ready }) };
    // The checkpoint that the graph continues from. LangGraph stores its own checkpoint while the nodes run.
    const from = metadata?.["thread_id"] === run ? metadata["checkpoint_id"] : undefined;
    if (typeof from !== "string" || from === "") return { of, at, ...begun };
    return { of, at, from, settles: true, ...(at !== from && { joins: "checkpoint" }), ...begun };
  });
}
