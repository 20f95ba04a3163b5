// copyStore: from each backend to each.
import "../../../__test__/copy-store.test.js";
import "../../langgraph/copy.test.js";
