// The types are made from ts/ and tools/studio: see scripts/types.mjs.
export * from "./dist/types/index.js";
