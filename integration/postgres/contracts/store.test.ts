// What every store does, most of it with AgentOS' contract.
import "../../../__test__/agentos.test.js";
import "../../../__test__/check.test.js";
import "../../../__test__/edges.test.js";
import "../../../__test__/hostile.test.js";
import "../../../__test__/ids.test.js";
import "../../../__test__/large.test.js";
import "../../../__test__/loop.test.js";
import "../../../__test__/queue.test.js";
import "../../../__test__/retention.test.js";
