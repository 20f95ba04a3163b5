// LangGraph's `BaseStore`: long-term memory.
import { contract } from "../../suite/suite.js";
import { basics } from "./contract.js";
import { programs } from "./programs.js";
import { processes } from "./processes.js";
export default contract({
    contract: "langgraph-store",
    url: import.meta.url,
    expectations: [...basics, ...processes],
    programs,
});
