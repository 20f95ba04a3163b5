// The sessions and run states of the OpenAI Agents SDK.
import "../../openai-agents/session.test.js";
import "../../openai-agents/states.test.js";
import "../../openai-agents/sdk.test.js";
import "../../openai-agents/exclusive.test.js";
