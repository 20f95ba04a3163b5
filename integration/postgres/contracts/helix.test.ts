// Helix' sessions.
import "../../../__test__/helix/arguments.test.js";
import "../../../__test__/helix/checkpoints.test.js";
import "../../../__test__/helix/custom-state.test.js";
import "../../../__test__/helix/effects.test.js";
import "../../../__test__/helix/expiry.test.js";
import "../../../__test__/helix/messages.test.js";
import "../../../__test__/helix/options.test.js";
import "../../../__test__/helix/rewind.test.js";
import "../../../__test__/helix/runs.test.js";
import "../../../__test__/helix/sessions.test.js";
import "../../../__test__/helix/sharing.test.js";
