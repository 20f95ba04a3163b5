// Mastra's `WorkflowsStorage`: the snapshots of workflow runs.
import { contract } from "../../suite/suite.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { isolation } from "./isolation.js";
import { lists } from "./lists.js";
import { kills, races, restarts } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";
import { snapshots } from "./snapshots.js";
import type { Store } from "./store.js";
import { updates } from "./updates.js";

export default contract<Store>({
  contract: "mastra",
  url: import.meta.url,
  expectations: [
    ...snapshots,
    ...updates,
    ...lists,
    ...hostile,
    ...isolation,
    ...restarts,
    ...races,
    ...kills,
    ...retention,
    ...growth,
  ],
  programs,
});
