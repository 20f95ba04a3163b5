import "./bundled.js";
export { withFaults } from "./testing/faults.js";
export { killAndResume, killEverywhere } from "./testing/kills.js";
export { KillTestError } from "./testing/report.js";
