/** `openStore` and `Store`, which several contracts can use together. */

import type {
  BackupOptions,
  BackupResult,
  CheckOptions,
  LeaseOptions,
  PruneOptions,
  PruneResult,
  RunRef,
  StatsOptions,
  Store as Contract,
  StoreOptions,
  StoreStats,
  VerifyReport,
  openStore as openStoreContract,
} from "../../index.js";
import { Activity } from "./activity.js";
import { Backlog } from "./backlog.js";
import { backup } from "./backup.js";
import { check } from "./check.js";
import type { Engine } from "./engine.js";
import { ForkpointError, isOwnError, typeError } from "../bridge/errors.js";
import { asText } from "../bridge/serializer.js";
import { type Lease, releaseAll, takeLease } from "./lease.js";
import { open } from "../bridge/native.js";
import { readOptions, readTarget } from "./options.js";
import { prune, stats, vacuum } from "./retention.js";
import { readRun } from "./run-ref.js";
import { warn } from "../bridge/warnings.js";
import { storeCalls } from "../bridge/wire.js";

const PRIVATE = Symbol("openStore");

let engines: (store: Store) => Engine;

export class Store implements Contract {
  readonly #engine: Engine;
  #closing: Promise<void> | undefined;

  constructor(key: symbol, target: string | URL, options: StoreOptions | undefined) {
    if (key !== PRIVATE) throw typeError("Store has no public constructor: use openStore()");
    const { format: given, maxQueueBytes, server, ...settings } = readOptions(options);
    const path = readTarget(target);
    const keepsText = path.startsWith("jsonl:");
    const format = keepsText ? asText(given) : given;
    const { busyTimeoutMs: busyTimeout, keepLastN, ttlMs, maxBytes, ...others } = settings;
    // The addon expects undefined for a missing value.
    const limits = { keepLastN: keepLastN ?? undefined, ttl: ttlMs ?? undefined, maxBytes: maxBytes ?? undefined };
    const native = open(path, { ...others, busyTimeout, ...limits }, server);
    const ready = storeCalls.call(native, "ready", {}).then((notice) => {
      if (notice !== null) warn(notice.code, notice.message, native.databasePath ?? "memory:");
    });
    // This handler prevents an unhandled rejection. A caller that does not await `ready` gets the error from its first
    // call.
    ready.catch(() => {});
    const backlog = new Backlog(maxQueueBytes);
    this.#engine = {
      native,
      keepsText,
      format,
      retention: settings,
      ready,
      activity: new Activity(),
      backlog,
      leases: new Set(),
    };
  }

  static {
    engines = (store) => {
      if (store.#closing !== undefined)
        throw new ForkpointError("CLOSED", "the store is closed: open a new one to go on");
      return store.#engine;
    };
  }

  prune(options?: PruneOptions): Promise<PruneResult> {
    return this.#run((engine) =>
      prune(
        engine,
        undefined,
        options,
        () => this.#closing !== undefined,
        (progress) => progress,
      ),
    );
  }

  stats(options?: StatsOptions): Promise<StoreStats> {
    return this.#run((engine) => stats(engine, undefined, options));
  }

  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#run((engine) => check(engine, options, () => this.#closing !== undefined));
  }

  vacuum(): Promise<void> {
    return this.#run(vacuum);
  }

  backup(path: string | URL, options?: BackupOptions): Promise<BackupResult> {
    return this.#run((engine) => backup(engine, path, options, () => this.#closing !== undefined));
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#run(async () => {
      const engine = engineOf(this);
      engine.activity.begin();
      try {
        return await takeLease(engine, readRun(run), options, engine.leases);
      } finally {
        engine.activity.end();
      }
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { native, activity, leases } = this.#engine;
    await activity.idle();
    await releaseAll(leases);
    await storeCalls.call(native, "close", {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs an operation of the store. An error's stack shows the caller of the public method. */
  async #run<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      return await work(this.#engine);
    } catch (error) {
      if (isOwnError(error)) Error.captureStackTrace(error, this.#run);
      throw error;
    }
  }
}

/** Makes a store that opens in the background. */
export function openInBackground(target: string | URL, options?: StoreOptions): Store {
  return new Store(PRIVATE, target, options);
}

/** Returns the engine of an open store. Throws `CLOSED` if the store is closed. */
export function engineOf(store: Store): Engine {
  return engines(store);
}

export const openStore: typeof openStoreContract = async (target, options) => {
  const store = openInBackground(target, options);
  try {
    await engineOf(store).ready;
  } catch (error) {
    await store.close();
    if (isOwnError(error)) Error.captureStackTrace(error, openStore);
    throw error;
  }
  return store as unknown as Contract;
};
