// The event streams, tasks and queues of MCP servers.
import "../../../__test__/mcp/events.test.js";
import "../../../__test__/mcp/tasks.test.js";
import "../../../__test__/mcp/queue.test.js";
import "../../mcp/server.test.js";
