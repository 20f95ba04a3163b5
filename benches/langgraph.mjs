// What real LangGraph graphs take with ForkpointSaver and with SqliteSaver: `npm run bench -- langgraph`. `--quick` tries
// a change, `--write` puts the result into docs/performance.md, and names of subjects choose among them.
import { delta } from "./langgraph/delta.mjs";
import { history } from "./langgraph/history.mjs";
import { savers } from "./langgraph/savers.mjs";
import { steps } from "./langgraph/steps.mjs";
import { compare } from "./lib/report.mjs";

await compare("langgraph", { steps, history, savers, delta });
