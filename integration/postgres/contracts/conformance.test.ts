// The suite that LangGraph publishes.
import "../../langgraph/conformance.test.js";
