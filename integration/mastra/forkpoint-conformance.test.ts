// Measures our store of workflows by the suite that other stores are measured by, too.
// @module-tag slow
import { mastra } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(mastra, new URL("stores/forkpoint.mjs", import.meta.url));
