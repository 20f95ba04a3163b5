/** The storage drivers: one in memory, one in a store. */

import type { ForkpointStorage as DurableContract, InMemoryStorage as Contract } from "../../../agentium.js";
import type { StoreOptions } from "../../../index.js";
import { show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import { requireId } from "../../store/ids.js";
import { type Format, type Serialized, deserialize, formatOf, readBack } from "../../bridge/serializer.js";
import { type Open, type PackedPart, type Part } from "../../bridge/wire.js";
import { storage } from "./wire.js";

const v8 = formatOf("v8");

export class InMemoryStorage implements Contract {
  readonly #namespaces = new Map<string, Map<string, Serialized>>();

  async get<T>(namespace: string, key: string): Promise<T | null> {
    const stored = this.#keys(namespace).get(name(key, "key"));
    return stored === undefined ? null : (readBack(stored) as T);
  }

  async set<T>(namespace: string, key: string, value: T): Promise<void> {
    const keys = this.#keys(namespace);
    keys.set(name(key, "key"), v8.serialize(value, "value"));
    this.#namespaces.set(namespace, keys);
  }

  async delete(namespace: string, key: string): Promise<void> {
    this.#keys(namespace).delete(name(key, "key"));
  }

  async list<T>(namespace: string, prefix = ""): Promise<Array<{ key: string; value: T }>> {
    const begin = name(prefix, "prefix");
    return [...this.#keys(namespace)]
      .filter(([key]) => key.startsWith(begin))
      .map(([key, stored]) => ({ key, value: readBack(stored) as T }));
  }

  async close(): Promise<void> {
    this.#namespaces.clear();
  }

  #keys(namespace: string): Map<string, Serialized> {
    return this.#namespaces.get(name(namespace, "namespace")) ?? new Map();
  }
}

export class ForkpointStorage implements DurableContract {
  readonly #handle: StoreHandle;

  constructor(target: string | URL | object, options?: StoreOptions) {
    this.#handle = new StoreHandle(target, options, storage);
  }

  get<T>(namespace: string, key: string): Promise<T | null> {
    return this.#handle.run(async ({ native, format }) => {
      const [ns, id] = [requireId(namespace, "namespace"), requireId(key, "key")];
      const found = await storage.find(native, "get", { namespace: ns, key: id }, openValue);
      return found && (valueOf(format, found) as T);
    });
  }

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

  list<T>(namespace: string, prefix = ""): Promise<Array<{ key: string; value: T }>> {
    return this.#handle.run(async ({ native, format }) => {
      const [ns, begin] = [requireId(namespace, "namespace"), requireId(prefix, "prefix")];
      const found = await storage.find(native, "list", { namespace: ns, prefix: begin }, (values, part) =>
        values.map((value) => openValue(value, part)),
      );
      return found.map((each) => ({ key: each.key, value: valueOf(format, each) as T }));
    });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A stored value that is not yet deserialised. */
interface FoundValue {
  key: string;
  parts: Part[];
}

const openValue: Open<{ key: string; parts: PackedPart[] }, FoundValue> = ({ key, parts }, part) => ({
  key,
  parts: parts.map(part),
});

/** Values are stored in a wrapper, because a store only holds objects. */
function valueOf(format: Format, { key, parts }: FoundValue): unknown {
  const { tag, bytes } = parts[0]!;
  return (deserialize(format, tag, bytes, `the value of ${JSON.stringify(key)}`) as { value?: unknown }).value;
}

function name(value: unknown, what: string): string {
  if (typeof value !== "string") throw typeError(`${what} must be a string, and is ${show(value)}`);
  return value;
}
