/** Loads what is not needed to open a store, for the modules in folders. */

export const later = (): typeof import("./later.js") => require("./later.js");
