// Measures the goals of the design and prints a table. Run:
// `npm run bench -- performance [--quick] [--write] [subject ...]`, for example
// `npm run bench -- performance savers`. `--quick` runs fewer rounds. `--write` puts the result into
// docs/performance.md. Subject names select what to run. Default: all subjects.
import { beside } from "./performance/beside.mjs";
import { floor } from "./performance/floor.mjs";
import { growing } from "./performance/growing.mjs";
import { million } from "./performance/million.mjs";
import { payloads } from "./performance/payloads.mjs";
import { savers } from "./performance/savers.mjs";
import { stored } from "./performance/stored.mjs";
import { compare } from "./lib/report.mjs";

await compare("performance", { growing, savers, beside, stored, payloads, million, floor }, { goals: true });
