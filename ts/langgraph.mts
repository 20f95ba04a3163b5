import "./bundled.js";
import * as peer from "@langchain/langgraph-checkpoint";
import { saverOf } from "./langgraph/saver.js";

export { recover } from "./langgraph/recovery.js";
export const ForkpointSaver = saverOf(peer);
