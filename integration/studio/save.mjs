// Saves a step of a run, from a process of its own: the database, the run, the step, and a text for its state.
import { CheckpointStore } from "forkpoint";
import { checkpoint } from "./contents.mjs";

const [path, run, step, text] = process.argv.slice(2);
const store = new CheckpointStore(path);
const { state, ...rest } = checkpoint(run, Number(step));
await store.save({ ...rest, state: { ...state, scratch: { ...state.scratch, text } } });
await store.close();
