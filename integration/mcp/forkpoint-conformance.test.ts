// Measures our event stores and task stores by the suite that other stores are measured by, too.
// @module-tag slow
import { mcp } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(mcp, new URL("stores/forkpoint.mjs", import.meta.url));
