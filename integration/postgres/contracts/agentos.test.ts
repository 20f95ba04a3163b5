// AgentOS' graphs.
import "../../agentos/differential.test.js";
import "../../agentos/effects.test.js";
import "../../agentos/failure.test.js";
import "../../agentos/fork.test.js";
import "../../agentos/parallel.test.js";
import "../../agentos/recovery.test.js";
import "../../agentos/resume.test.js";
import "../../agentos/run.test.js";
import "../../../__test__/begun-again.test.js";
import "../../../__test__/deleted.test.js";
import "../../../__test__/order.test.js";
