// Measures ForkpointSaver on a Postgres server beside LangGraph's PostgresSaver and a plain INSERT. A proxy counts what
// goes over the wire, and adds 0 or 1 ms to each round trip. Run:
// `npm run bench -- postgres [--quick] [--write] [--server=15] [subject ...]`. `--quick` runs fewer rounds. `--write`
// puts the result into docs/internals/measurements.md. `--server` chooses one of the installed servers, "oldest" or "newest" or a
// major version. Default: the newest. Subject names select what to run. Default: all subjects.
import { compare } from "./lib/report.mjs";
import { growing } from "./postgres/growing.mjs";
import { reading } from "./postgres/reading.mjs";
import { savers } from "./postgres/savers.mjs";

await compare("postgres", { growing, savers, reading }, { goals: true });
