// AgentOS's `ICheckpointStore`: runs of graphs, saved at each node.
import { contract } from "../../suite/suite.js";
import type { Store } from "./store.js";
import { basics } from "./contract.js";
import { forks } from "./fork.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { hostileIds } from "./ids.js";
import { isolation } from "./isolation.js";
import { kill } from "./kill.js";
import { order } from "./order.js";
import { races, restarts } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";

export default contract<Store>({
  contract: "agentos",
  url: import.meta.url,
  expectations: [
    ...basics,
    ...forks,
    ...order,
    ...hostile,
    ...hostileIds,
    ...isolation,
    ...restarts,
    ...races,
    ...retention,
    ...kill,
    ...growth,
  ],
  programs,
});
