/** The types of the entry `forkpoint/mastra`. */
export { ForkpointMastraStore } from "./forkpoint-mastra-store.js";
export type {
  ImportRunsOptions,
  MastraMemorySource,
  MastraSource,
  MastraStoreOptions,
} from "./forkpoint-mastra-store.js";
