// The inspector, and stores that are only looked at.
import "../../../__test__/inspect/inspector.test.js";
import "../../../__test__/inspect/labels.test.js";
import "../../../__test__/read-only.test.js";
import "../../langgraph/inspect.test.js";
