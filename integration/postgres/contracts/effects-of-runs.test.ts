// What goes with a run: its effects, and what people see of them.
import "../../../__test__/effects-of-runs.test.js";
import "../../../__test__/inspect/effects.test.js";
import "../../langgraph/removed-effects.test.js";
