// Measures our store by the suite that other stores are measured by, too.
// @module-tag slow
import { langgraphStore } from "../../conformance/dist/index.js";
import { measure } from "../../__test__/conformance.js";

await measure(langgraphStore, new URL("stores/forkpoint-store.mjs", import.meta.url));
