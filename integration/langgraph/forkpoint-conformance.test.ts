// Measures our checkpointer by the suite that other stores are measured by, too.
// @module-tag slow
import { langgraph } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(langgraph, new URL("stores/forkpoint.mjs", import.meta.url));
