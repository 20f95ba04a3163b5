// The inspector.
import "../../../__test__/inspect/inspector.test.js";
import "../../langgraph/inspect.test.js";
