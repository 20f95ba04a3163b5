// Draws the steps of a run by time and as a graph, and the page "Storage". A separate file, because most users only
// look at the lists.
export { GraphView } from "./graph-view.js";
export { StoragePage } from "./storage-page.js";
export { Waterfall } from "./waterfall-view.js";
