// What a step of a workflow costs, its checkpoint included, beside the same loop written by hand:
// `npm run bench -- agentium`. `--quick` tries a change, `--write` puts the result into docs/performance.md, and names
// of subjects choose among them.
import { bare } from "./agentium/bare.mjs";
import { growing } from "./agentium/growing.mjs";
import { memory } from "./agentium/memory.mjs";
import { reading } from "./agentium/reading.mjs";
import { running } from "./agentium/running.mjs";
import { compare } from "./lib/report.mjs";

await compare("agentium", { running, memory, growing, reading, bare });
