// The Claude Agent SDK's `SessionStore`: the transcripts of sessions.
import { contract } from "../../suite/suite.js";
import { methods } from "./contract.js";
import { growth } from "./growth.js";
import { values } from "./hostile.js";
import { isolation } from "./isolation.js";
import { keys } from "./keys.js";
import { order } from "./order.js";
import { kills, races, restarts } from "./processes.js";
import { programs } from "./programs.js";
import { retention } from "./retention.js";
import { summaries } from "./summaries.js";
import { times } from "./times.js";
export default contract({
    contract: "claude-agent-sdk",
    url: import.meta.url,
    expectations: [
        ...methods,
        ...summaries,
        ...times,
        ...order,
        ...values,
        ...keys,
        ...isolation,
        ...restarts,
        ...retention,
        ...races,
        ...kills,
        ...growth,
    ],
    programs,
});
