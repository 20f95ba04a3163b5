// The workflows of Mastra, and the memory of agents.
import "../../mastra/workflows.test.js";
import "../../mastra/mastra.test.js";
import "../../mastra/memory.test.js";
import "../../mastra/agents.test.js";
import "../../mastra/exclusive.test.js";
