// The methods, one by one.
import assert from "node:assert/strict";
import type { Expectation } from "../../suite/types.js";
import type { Store } from "./store.js";

const page = "https://docs.langchain.com/oss/javascript/langgraph/persistence#memory-store";

export const basics: ReadonlyArray<Expectation<Store>> = [
  {
    id: "langgraph-store/get-missing",
    group: "contract",
    level: "MUST",
    source: `documented: ${page}`,
    title: "returns null for an item that does not exist",
    async check(trial) {
      const store = await trial.store();
      assert.equal(await store.get(["a"], "k"), null);
    },
  },
];
