// Measures real LangGraph graphs with ForkpointSaver and with SqliteSaver.
// Run: `npm run bench -- langgraph [--quick] [--write] [subject ...]`. `--quick` runs fewer rounds. `--write` puts the
// result into docs/internals/measurements.md. Subject names select what to run. Default: all subjects.
import { delta } from "./langgraph/delta.mjs";
import { history } from "./langgraph/history.mjs";
import { savers } from "./langgraph/savers.mjs";
import { steps } from "./langgraph/steps.mjs";
import { compare } from "./lib/report.mjs";

await compare("langgraph", { steps, history, savers, delta });
