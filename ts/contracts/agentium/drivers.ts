/** The storage drivers: one in memory, one in a store. */

import { StoreHandle } from "../../store/handle.js";
import { requireId } from "../../store/ids.js";
import { type Format, type Serialized, deserialize, formatOf, readBack } from "../../bridge/serializer.js";
import { type FoundValue, openValue, storage } from "./wire.js";
import type { Store } from "../../store/store.js";
import { text, type StoreOptions } from "../../store/options.js";

/**
 * Agentium's storage interface. A driver stores each value under a namespace and a key.
 * @example const driver: StorageDriver = new InMemoryStorage(); // or your own driver
 */
export interface StorageDriver {
  /**
   * Optional: called once before the first call of another method. If `initialize` rejects, the next call of a method
   * calls `initialize` again.
   */
  initialize?(): Promise<void>;
  /**
   * Returns the value of the key, or null if there is none. Each call returns a fresh object.
   * @example const city = await driver.get<string>("trip", "city");
   */
  get<T>(namespace: string, key: string): Promise<T | null>;
  /**
   * Stores a value. An earlier value of the key is replaced.
   * @example await driver.set("trip", "city", "Rome");
   */
  set<T>(namespace: string, key: string, value: T): Promise<void>;
  /**
   * Removes the key. An unknown key causes no error.
   * @example await driver.delete("trip", "city");
   */
  delete(namespace: string, key: string): Promise<void>;
  /**
   * Returns the entries whose key begins with the prefix. Without a prefix: all entries of the namespace.
   * @example const entries = await driver.list<string>("trip", "city:");
   */
  list<T>(namespace: string, prefix?: string): Promise<Array<{ key: string; value: T }>>;
  /**
   * Closes the driver.
   * @example await driver.close();
   */
  close(): Promise<void>;
}

const v8 = formatOf("v8");

/**
 * A {@link StorageDriver} in memory. The driver stores copies of the values. Each method rejects with a TypeError if a
 * namespace, key or prefix is not a string.
 * @example const driver = new InMemoryStorage();
 */
export class InMemoryStorage implements StorageDriver {
  readonly #namespaces = new Map<string, Map<string, Serialized>>();

  async get<T>(namespace: string, key: string): Promise<T | null> {
    const stored = this.#keys(namespace).get(text(key, "key"));
    return stored === undefined ? null : (readBack(stored) as T);
  }

  /**
   * Stores a copy of the value. An earlier value of the key is replaced.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored. The message names the path of the part.
   * @example await driver.set("trip", "city", "Rome");
   */
  async set<T>(namespace: string, key: string, value: T): Promise<void> {
    const keys = this.#keys(namespace);
    keys.set(text(key, "key"), v8.serialize(value, "value"));
    this.#namespaces.set(namespace, keys);
  }

  async delete(namespace: string, key: string): Promise<void> {
    this.#keys(namespace).delete(text(key, "key"));
  }

  /**
   * Returns the entries whose key begins with the prefix, in the order in which the keys were first set. Default: all
   * entries.
   * @example const entries = await driver.list<string>("trip", "city:");
   */
  async list<T>(namespace: string, prefix: string = ""): Promise<Array<{ key: string; value: T }>> {
    const begin = text(prefix, "prefix");
    return [...this.#keys(namespace)]
      .filter(([key]) => key.startsWith(begin))
      .map(([key, stored]) => ({ key, value: readBack(stored) as T }));
  }

  /**
   * Removes all values.
   * @example await driver.close();
   */
  async close(): Promise<void> {
    this.#namespaces.clear();
  }

  #keys(namespace: string): Map<string, Serialized> {
    return this.#namespaces.get(text(namespace, "namespace")) ?? new Map();
  }
}

/**
 * A durable {@link StorageDriver} over a Forkpoint database. Each method rejects with a TypeError if a namespace, key
 * or prefix is not a string. Any call can reject with `BUSY`, `CLOSED`, `UNAVAILABLE` or `UNSUPPORTED`. A read can also
 * reject with `CORRUPT`, and `set` with `FULL`. {@link ErrorCode} explains the codes.
 * @example const driver = new ForkpointStorage("storage.db", { ttlMs: 24 * 60 * 60 * 1_000 });
 */
export class ForkpointStorage implements StorageDriver, AsyncDisposable {
  readonly #handle: StoreHandle;

  /**
   * Takes the arguments of {@link WorkflowCheckpointStore}. `keepLastN` removes no value, because the limit applies to
   * each key separately. `ttlMs` removes each value whose last `set` was more than `ttlMs` milliseconds ago.
   * @throws TypeError or RangeError for a wrong target or option.
   */
  constructor(target: string | URL | Store, options?: StoreOptions) {
    this.#handle = new StoreHandle(target, options, storage);
  }

  get<T>(namespace: string, key: string): Promise<T | null> {
    return this.#handle.run(async ({ native, format }) => {
      const [ns, id] = [requireId(namespace, "namespace"), requireId(key, "key")];
      const found = await storage.find(native, "get", { namespace: ns, key: id }, openValue);
      return found && (valueOf(format, found) as T);
    });
  }

  /**
   * Stores a value durably. An earlier value of the key is replaced. The value is read before `set` returns its
   * promise.
   * @throws ForkpointError `INVALID_ARGUMENT` if the value cannot be stored. The message names the path of the part.
   * @example await driver.set("trip", "city", "Rome");
   */
  set<T>(namespace: string, key: string, value: T): Promise<void> {
    return this.#handle.save(async ({ native, format }) => {
      const [ns, id] = [requireId(namespace, "namespace"), requireId(key, "key")];
      const { tag, bytes } = format.serialize({ value }, "value");
      await storage.call(native, "set", { namespace: ns, key: id, savedAt: Date.now(), tag }, [bytes]);
    });
  }

  delete(namespace: string, key: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const [ns, id] = [requireId(namespace, "namespace"), requireId(key, "key")];
      await storage.call(native, "delete", { namespace: ns, key: id });
    });
  }

  /**
   * Returns the entries whose key begins with the prefix, in the order of the keys' UTF-8 bytes. Default: all entries.
   * @example const entries = await driver.list<string>("trip", "city:");
   */
  list<T>(namespace: string, prefix: string = ""): Promise<Array<{ key: string; value: T }>> {
    return this.#handle.run(async ({ native, format }) => {
      const [ns, begin] = [requireId(namespace, "namespace"), requireId(prefix, "prefix")];
      const found = await storage.find(native, "list", { namespace: ns, prefix: begin }, (values, part) =>
        values.map((value) => openValue(value, part)),
      );
      return found.map((each) => ({ key: each.key, value: valueOf(format, each) as T }));
    });
  }

  /**
   * Waits for earlier calls to end, then closes this object. A second call is allowed. An open store that was given to
   * the constructor stays open.
   * @example await driver.close();
   */
  close(): Promise<void> {
    return this.#handle.close();
  }

  /**
   * Calls `close()` at the end of an `await using` block.
   * @example await using driver = new ForkpointStorage("storage.db"); // closed at the end of the block
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Values are stored in a wrapper, because a store only holds objects. */
function valueOf(format: Format, { key, parts }: FoundValue): unknown {
  const { tag, bytes } = parts[0]!;
  return (deserialize(format, tag, bytes, `the value of ${JSON.stringify(key)}`) as { value?: unknown }).value;
}
