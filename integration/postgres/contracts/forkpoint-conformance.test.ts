// The suites that other stores are measured by.
import "../../agentos/forkpoint-conformance.test.js";
import "../../claude-agent-sdk/forkpoint-conformance.test.js";
import "../../langgraph/forkpoint-conformance.test.js";
import "../../langgraph/forkpoint-conformance-store.test.js";
import "../../mastra/forkpoint-conformance.test.js";
import "../../openai-agents/forkpoint-conformance.test.js";
