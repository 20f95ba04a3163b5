// The event stores and the task stores of MCP servers.
import { contract } from "../../suite/suite.js";
import { events } from "./events.js";
import { processes, programs } from "./processes.js";
import type { Stores } from "./store.js";
import { tasks } from "./tasks.js";

export default contract<Stores>({
  contract: "mcp",
  url: import.meta.url,
  expectations: [...events, ...tasks, ...processes],
  programs,
});
