// Where expectations come from.

const api = "https://openai.github.io/openai-agents-js/openai/agents/interfaces";

/** The documentation of a method of `Session`. */
export const types = (method: string) => `documented: ${api}/session/#${method.toLowerCase()}` as const;

export const identity = types("getSessionId");
export const read = types("getItems");
export const add = types("addItems");
export const pop = types("popItem");
export const clear = types("clearSession");
export const replace = types("replaceHistoryWithCompaction");
export const transaction = `documented: ${api}/sessionhistorytransactionawaresession/` as const;
export const rewrite =
  "framework: applySessionHistoryMutations of memory/historyMutations.ts, which MemorySession calls";
export const persistent =
  "documented: https://openai.github.io/openai-agents-js/guides/sessions/ (a persistent memory layer)";
