// LangGraph's `BaseStore`: long-term memory.
import { contract } from "../../suite/suite.js";
import type { Store } from "./store.js";
import { basics } from "./contract.js";
import { programs } from "./programs.js";
import { processes } from "./processes.js";

export default contract<Store>({
  contract: "langgraph-store",
  url: import.meta.url,
  expectations: [...basics, ...processes],
  programs,
});
