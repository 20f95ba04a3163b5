// LangGraph.js' `BaseCheckpointSaver`: the checkpoints and pending writes of graphs.
import { contract } from "../../suite/suite.js";
import { channels } from "./channels.js";
import { checkpoints } from "./checkpoints.js";
import { deltas } from "./delta.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { lists } from "./list.js";
import { processes } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";
import { upstream } from "./upstream.js";
import { pendingWrites } from "./writes.js";
export default contract({
    contract: "langgraph",
    url: import.meta.url,
    expectations: [
        ...checkpoints,
        ...channels,
        ...pendingWrites,
        ...lists,
        ...deltas,
        ...hostile,
        ...retention,
        ...processes,
        ...growth,
    ],
    programs,
    upstream,
});
