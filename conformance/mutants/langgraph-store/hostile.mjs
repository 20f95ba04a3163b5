// Labels, keys and values that break careless code.
import { ReferenceStore } from "./reference.mjs";
import { json } from "./wrong.mjs";

/** A store that changes values before it keeps them. */
const keeping = (kept) =>
  class extends ReferenceStore {
    write(operation) {
      super.write(operation.value === null ? operation : { ...operation, value: kept(operation.value) });
    }
  };

/** Changes all texts of a value. */
const texts = (value, change) => {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => texts(one, change));
  if (Object.getPrototypeOf(value ?? 0) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [change(key), texts(one, change)]));
};

export const hostile = {
  "langgraph-store/any-label": class extends ReferenceStore {
    checkNamespace(namespace) {
      super.checkNamespace(namespace);
      if (namespace.some((label) => /[%_\\]/.test(label))) throw new Error("no wildcards");
    }
  },
  "langgraph-store/any-key": class extends ReferenceStore {
    write(operation) {
      if (operation.key !== "") super.write(operation);
    }
  },
  "langgraph-store/json-values": keeping((value) =>
    Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)),
  ),
  "langgraph-store/proto-key": keeping((value) => {
    const kept = {};
    for (const key of Object.keys(value)) kept[key] = value[key];
    return kept;
  }),
  "langgraph-store/nul-characters": keeping((value) => texts(value, (text) => text.replaceAll("\0", ""))),
  "langgraph-store/lone-surrogates": keeping((value) => texts(value, (text) => text.toWellFormed())),
  "langgraph-store/beyond-json": keeping(json),
  "langgraph-store/large-values": class extends ReferenceStore {
    check(operation) {
      super.check(operation);
      if (JSON.stringify(operation.value)?.length > 1_000_000) throw new Error("the value is too large");
    }
  },
  "langgraph-store/put-refuses-namespaces": class extends ReferenceStore {
    checkNamespace(namespace) {
      if (namespace[0] !== "langgraph") super.checkNamespace(namespace);
    }
  },
  "langgraph-store/namespace-errors": class extends ReferenceStore {
    checkNamespace(namespace) {
      try {
        super.checkNamespace(namespace);
      } catch (cause) {
        throw new Error("wrong namespace", { cause });
      }
    }
  },
  "langgraph-store/reads-of-refused-namespaces": class extends ReferenceStore {
    check(operation) {
      super.check(operation);
      if ("namespace" in operation) this.checkNamespace(operation.namespace);
    }
  },
};
