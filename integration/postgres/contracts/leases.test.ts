// Leases, of all contracts.
import "../../../__test__/leases.test.js";
import "../../langgraph/leases.test.js";
