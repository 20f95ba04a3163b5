/** Loads modules on first use, for modules in folders. */

export const later = (): typeof import("./later.js") => require("./later.js");
