// `exportTo`: everything of a store into other checkpointers of LangGraph.
import { exportTests } from "./export-to.js";
import { kinds } from "./helpers.js";
import { otherSavers } from "./other-savers.js";

exportTests(otherSavers, kinds);
