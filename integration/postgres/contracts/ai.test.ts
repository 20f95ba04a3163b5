// The chats and streams of the AI SDK.
import "../../ai/chats.test.js";
import "../../ai/approvals.test.js";
import "../../ai/streams.test.js";
import "../../ai/sdk.test.js";
import "../../ai/exclusive.test.js";
import "../../ai/stops.test.js";
