/** What is not needed to open a store, to save and to read. It is loaded when it is needed. */

export { recover } from "./recovery.js";
