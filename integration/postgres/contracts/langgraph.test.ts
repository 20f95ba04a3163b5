// LangGraph's saver.
import "../../langgraph/beyond.test.js";
import "../../langgraph/bytes.test.js";
import "../../langgraph/clock.test.js";
import "../../langgraph/deleted.test.js";
import "../../langgraph/delta.test.js";
import "../../langgraph/effects-agents.test.js";
import "../../langgraph/effects-arrivals.test.js";
import "../../langgraph/expected.test.js";
import "../../langgraph/following.test.js";
import "../../langgraph/functional.test.js";
import "../../langgraph/hostile.test.js";
import "../../langgraph/import.test.js";
import "../../langgraph/list.test.js";
import "../../langgraph/meeting.test.js";
import "../../langgraph/order.test.js";
import "../../langgraph/queue.test.js";
import "../../langgraph/retention.test.js";
