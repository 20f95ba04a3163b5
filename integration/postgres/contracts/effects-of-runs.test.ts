// What goes with a run: its effects.
import "../../../__test__/effects-of-runs.test.js";
