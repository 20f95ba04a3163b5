// LangGraph.js' `BaseCheckpointSaver`: the checkpoints and pending writes of graphs.
import { contract } from "../../suite/suite.js";
import type { Saver } from "./store.js";
import { channels } from "./channels.js";
import { checkpoints } from "./checkpoints.js";
import { deltas } from "./delta.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { lists } from "./list.js";
import { kills, races, restarts } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";
import { upstream } from "./upstream.js";
import { pendingWrites } from "./writes.js";

export default contract<Saver>({
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
    ...restarts,
    ...races,
    ...kills,
    ...growth,
  ],
  programs,
  upstream,
});
