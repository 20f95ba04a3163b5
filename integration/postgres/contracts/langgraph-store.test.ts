// LangGraph's store and its cache.
import "../../langgraph/store.test.js";
import "../../langgraph/memory.test.js";
