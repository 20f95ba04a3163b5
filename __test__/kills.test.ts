// Processes that hold a run of AgentOS, wait for it or stop it are killed at each call of the engine. Others must get on at once.
// FORKPOINT_TEST_SEED selects other calls. FORKPOINT_TEST_MEETINGS=100 kills at every call.
// @module-tag slow
import { killTests } from "./kills.js";
import { fixture } from "./helpers.js";
// @ts-expect-error: a program without types
import { make } from "./fixtures/killed-run.mjs";

killTests(fixture("killed-run.mjs"), make);
