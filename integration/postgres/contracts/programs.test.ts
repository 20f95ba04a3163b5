// Descriptions of programs.
import "../../../__test__/programs/store.test.js";
