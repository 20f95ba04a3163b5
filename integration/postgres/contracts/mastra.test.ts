// The workflows of Mastra.
import "../../mastra/workflows.test.js";
import "../../mastra/mastra.test.js";
