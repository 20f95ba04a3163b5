/** The entry `forkpoint/testing`. */

import "../bridge/bundled.js";
export { withFaults } from "./faults.js";
export { killAndResume, killEverywhere } from "./kills.js";
export { KillTestError } from "./report.js";
