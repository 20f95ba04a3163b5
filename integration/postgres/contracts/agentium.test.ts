// Agentium's stores and workflows.
import "../../../__test__/agentium/attempts.test.js";
import "../../../__test__/agentium/control.test.js";
import "../../../__test__/agentium/drivers.test.js";
import "../../../__test__/agentium/expected.test.js";
import "../../../__test__/agentium/runs.test.js";
import "../../../__test__/agentium/states.test.js";
import "../../../__test__/agentium/store.test.js";
import "../../../__test__/agentium/workflow.test.js";
import "../../../__test__/agentium/following.test.js";
