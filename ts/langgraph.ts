export { ForkpointSaver } from "./langgraph/saver.js";
