// Measures the cost of a workflow step, including its checkpoint. Compares this cost with hand-written loops.
// Run: `npm run bench -- agentium [--quick] [--write] [subject ...]`. `--quick` runs fewer rounds. `--write` puts the
// result into docs/internals/measurements.md. Subject names select what to run. Default: all subjects.
import { bare } from "./agentium/bare.mjs";
import { growing } from "./agentium/growing.mjs";
import { memory } from "./agentium/memory.mjs";
import { reading } from "./agentium/reading.mjs";
import { running } from "./agentium/running.mjs";
import { compare } from "./lib/report.mjs";

await compare("agentium", { running, memory, growing, reading, bare });
