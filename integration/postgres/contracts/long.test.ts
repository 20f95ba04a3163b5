// A long graph.
import "../../langgraph/long.test.js";
