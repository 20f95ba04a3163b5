/** Node's module `crypto`. Loading it takes about 2 ms, so it is loaded when it is needed. */

export const crypto = (): typeof import("node:crypto") => require("node:crypto");
