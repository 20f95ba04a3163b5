// Stops of runs, of all contracts, and of what recover continues.
import "../../../__test__/stopped.test.js";
import "../../langgraph/stopped.test.js";
