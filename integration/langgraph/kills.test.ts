// Processes that hold a thread, wait for it or stop it are killed at each call of the engine: see __test__/kills.test.ts.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { killTests } from "../../__test__/kills.js";
// @ts-expect-error: a program without types
import { make } from "./fixtures/killed-thread.mjs";

killTests(fileURLToPath(new URL("fixtures/killed-thread.mjs", import.meta.url)), make, { short: 1, isSlow: true });
