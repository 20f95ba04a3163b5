import type { ForkpointStorage as DurableContract, InMemoryStorage as Contract } from "../../agentium.js";
import type { StoreOptions } from "../../index.js";
import { show, typeError } from "../errors.js";
import { own } from "../ids.js";
import { call, direct } from "../native.js";
import { type Named, fetchAllNamed, fetchNamed } from "../parcel.js";
import { type Serialized, deserialize, formatOf, readBack } from "../serializer.js";
import { View } from "../view.js";

const space = direct((binding) => binding.STORAGE_SPACE);
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
  readonly #view: View;

  constructor(target: string | URL | object, options?: StoreOptions) {
    this.#view = new View(target, options, space);
  }

  get<T>(namespace: string, key: string): Promise<T | null> {
    return this.#view.run(async ({ native, format }) => {
      const [ns, id] = [own(namespace, "namespace"), own(key, "key")];
      const found = await fetchNamed(native, (ticket) => native.storageGet(ticket, ns, id));
      return found && (valueOf(format, found) as T);
    });
  }

  set<T>(namespace: string, key: string, value: T): Promise<void> {
    return this.#view.run(async ({ native, format }) => {
      const [ns, id] = [own(namespace, "namespace"), own(key, "key")];
      const { tag, bytes } = format.serialize({ value }, "value");
      await call<null>(native, (ticket) => native.storageSet(ticket, ns, id, Date.now(), tag, bytes));
    });
  }

  delete(namespace: string, key: string): Promise<void> {
    return this.#view.run(async ({ native }) => {
      const [ns, id] = [own(namespace, "namespace"), own(key, "key")];
      await call<null>(native, (ticket) => native.storageDelete(ticket, ns, id));
    });
  }

  list<T>(namespace: string, prefix = ""): Promise<Array<{ key: string; value: T }>> {
    return this.#view.run(async ({ native, format }) => {
      const [ns, begin] = [own(namespace, "namespace"), own(prefix, "prefix")];
      const found = await fetchAllNamed(native, (ticket) => native.storageList(ticket, ns, begin));
      return found.map((named) => ({ key: named[0][0]!, value: valueOf(format, named) as T }));
    });
  }

  close(): Promise<void> {
    return this.#view.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A value is wrapped, because what a store keeps is an object. */
function valueOf(format: Parameters<typeof deserialize>[0], [[key], [part]]: Named): unknown {
  const [, tag, bytes] = part!;
  return (deserialize(format, tag, bytes, `the value of ${JSON.stringify(key)}`) as { value?: unknown }).value;
}

function name(value: unknown, what: string): string {
  if (typeof value !== "string") throw typeError(`${what} must be a string, and is ${show(value)}`);
  return value;
}
