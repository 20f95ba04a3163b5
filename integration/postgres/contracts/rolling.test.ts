// Rolling deploys: workers of two versions on one server.
// @module-tag slow
import "../../../__test__/programs/rolling.test.js";
import "../../langgraph/rolling.test.js";
