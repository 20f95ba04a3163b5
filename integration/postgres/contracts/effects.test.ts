// Effects of runs.
import "../../../__test__/effect-forks.test.js";
import "../../../__test__/effect-hostile.test.js";
import "../../../__test__/effect-processes.test.js";
import "../../../__test__/effects.test.js";
import "../../langgraph/effects.test.js";
