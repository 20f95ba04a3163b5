// Measures our store by the suite that other stores are measured by, too.
// @module-tag slow
import { agentos } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(agentos, new URL("stores/forkpoint.mjs", import.meta.url));
