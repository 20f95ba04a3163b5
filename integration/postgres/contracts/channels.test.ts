// The channels of `node:diagnostics_channel`.
import "../../../__test__/channels.test.js";
import "../../langgraph/channels.test.js";
