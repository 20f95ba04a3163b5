// Rules about age leave runs that wait.
import "../../../__test__/waiting-retention.test.js";
import "../../agentos/waiting-retention.test.js";
import "../../langgraph/waiting-retention.test.js";
