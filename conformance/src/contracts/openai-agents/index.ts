// The `Session` of the OpenAI Agents SDK: the items of a conversation.
import { contract } from "../../suite/suite.js";
import { methods } from "./contract.js";
import { growth } from "./growth.js";
import { hostile } from "./hostile.js";
import { isolation } from "./isolation.js";
import { kills } from "./kills.js";
import { optional } from "./optional.js";
import { order } from "./order.js";
import { programs } from "./programs.js";
import { races } from "./races.js";
import { restart } from "./restart.js";
import type { SessionStore } from "./store.js";

export default contract<SessionStore>({
  contract: "openai-agents",
  url: import.meta.url,
  expectations: [
    ...methods,
    ...optional,
    ...order,
    ...hostile,
    ...isolation,
    ...restart,
    ...races,
    ...kills,
    ...growth,
  ],
  programs,
});
