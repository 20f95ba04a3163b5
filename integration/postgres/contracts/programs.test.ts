// Descriptions of programs, and which runs do not fit another one.
import "../../../__test__/programs/drain-check.test.js";
import "../../../__test__/programs/graph.test.js";
import "../../../__test__/programs/store.test.js";
import "../../../__test__/programs/workflow.test.js";
import "../../agentos/deploys.test.js";
import "../../langgraph/deploys.test.js";
