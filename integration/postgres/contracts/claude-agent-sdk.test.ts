// The sessions of the Claude Agent SDK.
import "../../../__test__/claude-agent-sdk/sessions.test.js";
import "../../claude-agent-sdk/sdk.test.js";
