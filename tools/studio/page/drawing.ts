// What draws the steps of a run by time and as a graph: a file of its own, because most people look at the list.
export { GraphView } from "./graph-view.js";
export { Waterfall } from "./waterfall-view.js";
