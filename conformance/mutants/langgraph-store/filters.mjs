// What filters match.
import { ReferenceStore } from "./reference.mjs";

/** A store that compares in another way. */
const comparing = (operate) =>
  class extends ReferenceStore {
    operate = (...of) => operate((...same) => super.operate(...same), ...of);
  };

const orders = new Set(["$gt", "$gte", "$lt", "$lte"]);

export const filters = {
  "langgraph-store/filter-equal": comparing((operate, name, found, wanted) => !wanted || operate(name, found, wanted)),
  "langgraph-store/filter-types": comparing((operate, name, found, wanted) => operate(name, `${found}`, `${wanted}`)),
  "langgraph-store/filter-all-keys": class extends ReferenceStore {
    matches(value, filter) {
      const keys = Object.keys(filter);
      return keys.length === 0 || keys.some((key) => this.meets(this.at(value, key), filter[key]));
    }
  },
  "langgraph-store/filter-eq-ne": class extends ReferenceStore {
    meets = (found, wanted) => super.meets(found, wanted?.$ne === undefined ? wanted : { $ne: wanted.$ne });
  },
  // As SQL compares NULL.
  "langgraph-store/filter-ne-missing": comparing(
    (operate, name, found, wanted) => found !== undefined && operate(name, found, wanted),
  ),
  "langgraph-store/filter-greater-less": comparing((operate, name, found, wanted) =>
    orders.has(name) ? operate(name, `${found}`, `${wanted}`) : operate(name, found, wanted),
  ),
  "langgraph-store/filter-greater-mixed": comparing((operate, name, found, wanted) => {
    if (orders.has(name) && Number.isNaN(Number(found))) throw new Error(`invalid number: ${found}`);
    return operate(name, found, wanted);
  }),
  "langgraph-store/filter-greater-text": comparing((operate, name, found, wanted) =>
    orders.has(name) ? operate(name, Number(found), Number(wanted)) : operate(name, found, wanted),
  ),
  "langgraph-store/filter-in-nin": comparing((operate, name, found, wanted) =>
    name === "$nin" ? operate("$in", found, wanted) : operate(name, found, wanted),
  ),
  "langgraph-store/filter-in-nothing": comparing(
    (operate, name, found, wanted) => wanted.length === 0 || operate(name, found, wanted),
  ),
  "langgraph-store/filter-objects": comparing((_, name, found, wanted) => name === "$eq" && found === wanted),
  "langgraph-store/filter-unknown-operator": class extends ReferenceStore {
    checkFilter() {}
    at = (value, key) => (key === "$or" ? undefined : super.at(value, key));
    operate = (name, found, wanted) => name === "$near" || super.operate(name, found, wanted);
  },
  "langgraph-store/filter-refuses-operators": class extends ReferenceStore {
    checkFilter() {}
    operate = (name, found, wanted) => name === "$eq" && super.operate(name, found, wanted);
  },
  "langgraph-store/filter-any-key": class extends ReferenceStore {
    at = (value, key) => key.split(".").reduce((inner, part) => inner?.[part], value);
  },
};
