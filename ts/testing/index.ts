/** The entry `forkpoint/testing`. */

import "../bridge/bundled.js";
export { withFaults } from "./faults.js";
export {
  killAndResume,
  killEverywhere,
  type KillOptions,
  type KillEverywhereOptions,
  type KillReport,
} from "./kills.js";
export { KillTestError } from "./report.js";
export type { EffectCall } from "../store/effect-attempt.js";
export type { AsyncMethod, FaultyCalls, FaultError, Fault } from "./fault.js";
export type { KillMoment, RandomNumber, ProgramOptions, Attempt } from "./program.js";
