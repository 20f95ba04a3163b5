// LangGraph's store and its cache.
import "../../langgraph/store.test.js";
