// TinyAgents' threads and graphs.
import "../../../__test__/tinyagents/asynchronous.test.js";
import "../../../__test__/tinyagents/checkpointer.test.js";
import "../../../__test__/tinyagents/graph.test.js";
import "../../../__test__/tinyagents/model.test.js";
import "../../../__test__/tinyagents/parent.test.js";
import "../../../__test__/tinyagents/status.test.js";
import "../../../__test__/tinyagents/store.test.js";
import "../../../__test__/tinyagents/threads.test.js";
import "../../../__test__/tinyagents/writes.test.js";
import "../../../__test__/tinyagents/following.test.js";
