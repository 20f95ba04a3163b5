// LangGraph's graphs.
import "../../langgraph/durability.test.js";
import "../../langgraph/interrupts.test.js";
import "../../langgraph/recovery.test.js";
import "../../langgraph/status.test.js";
import "../../langgraph/subgraphs.test.js";
import "../../langgraph/testing.test.js";
import "../../langgraph/threads.test.js";
import "../../langgraph/values.test.js";
import "../../langgraph/writes.test.js";
