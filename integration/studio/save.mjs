// Saves a step of a run, from a process of its own: the database, the run, the step, a text for its state, and
// the tokens that the run has used.
import { CheckpointStore } from "forkpoint";
import { checkpoint } from "./contents.mjs";

const [path, run, step, text, tokens] = process.argv.slice(2);
const store = new CheckpointStore(path);
const { state, ...rest } = checkpoint(run, Number(step));
const diagnostics = { ...state.diagnostics, ...(tokens && { totalTokensUsed: Number(tokens) }) };
await store.save({ ...rest, state: { ...state, diagnostics, scratch: { ...state.scratch, text } } });
await store.close();
