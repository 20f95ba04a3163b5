// LangGraph's `BaseStore`: long-term memory.
import { contract } from "../../suite/suite.js";
import { batch } from "./batch.js";
import { filters } from "./filters.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { isolation } from "./isolation.js";
import { items } from "./items.js";
import { namespaces } from "./namespaces.js";
import { kills, races, restarts } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";
import { search } from "./search.js";
import type { Store } from "./store.js";

export default contract<Store>({
  contract: "langgraph-store",
  url: import.meta.url,
  expectations: [
    ...items,
    ...batch,
    ...search,
    ...filters,
    ...namespaces,
    ...isolation,
    ...hostile,
    ...retention,
    ...restarts,
    ...races,
    ...kills,
    ...growth,
  ],
  programs,
});
