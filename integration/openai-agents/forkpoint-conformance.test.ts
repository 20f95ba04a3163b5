// Measures our sessions by the suite that other stores are measured by, too.
// @module-tag slow
import { openaiAgents } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(openaiAgents, new URL("stores/forkpoint.mjs", import.meta.url));
