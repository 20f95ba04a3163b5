/** The files of the page, by their path. `scripts/bundle.mjs` writes the module. */
export const files: Record<string, { type: string; body: string }>;
