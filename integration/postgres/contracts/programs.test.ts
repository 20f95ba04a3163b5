// Programs: the runs that belong to them, their descriptions, and the runs that do not fit another one.
import "../../../__test__/programs/drain-check.test.js";
import "../../../__test__/programs/graph.test.js";
import "../../../__test__/programs/owner.test.js";
import "../../../__test__/programs/store.test.js";
import "../../../__test__/programs/stranded.test.js";
import "../../../__test__/programs/workflow.test.js";
import "../../agentos/deploys.test.js";
import "../../agentos/owner.test.js";
import "../../langgraph/deploys.test.js";
import "../../langgraph/owner.test.js";
import "../../langgraph/running-nothing.test.js";
import "../../langgraph/stranded.test.js";
