// Leases, of all contracts, and the scopes that take them.
import "../../../__test__/exclusive.test.js";
import "../../../__test__/kills.test.js";
import "../../../__test__/left-requests.test.js";
import "../../../__test__/leases.test.js";
import "../../../__test__/scopes.test.js";
import "../../agentos/exclusive.test.js";
import "../../langgraph/exclusive.test.js";
import "../../langgraph/leases.test.js";
