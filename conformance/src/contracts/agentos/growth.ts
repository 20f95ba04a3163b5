// How many bytes are stored.
import { expectations } from "../../suite/expectations.js";
import { measure } from "../../suite/growth.js";
import type { Checkpoint, Store } from "./store.js";
import { type Agentos, checkpoint, id, time } from "./checkpoints.js";

const steps = 200;
const added = 2_000;
const newData = (times: number) => ({ of: "for each byte of new data", bytes: times * added });

/** Returns text that does not shrink much. */
const text = ({ random }: Agentos, length: number) =>
  Array.from({ length: Math.ceil(length / 5) }, () => (random(60_466_176) + 60_466_176).toString(36).slice(-5)).join(
    "",
  );

/** Saves a run whose state gets one more message of 2 KB in each step. */
async function converse(trial: Agentos, store: Store): Promise<void> {
  const messages: string[] = [];
  const nodeResults: Checkpoint["nodeResults"] = {};
  for (let n = 0; n < steps; n++) {
    messages.push(text(trial, added));
    const one = checkpoint({ id: id(n), timestamp: time + n, nodeResults });
    one.state.scratch = { messages: [...messages] };
    await store.save(one);
  }
}

export const growth = expectations<Store>("growth", {
  "agentos/growth-of-steps": {
    ours: "each checkpoint holds the whole state, so a store may write all of it at each step",
    title: "takes few bytes for 200 steps that add 2 KB each",
    async checkStore(store, trial) {
      await converse(trial, store);
      await measure(trial, "200 steps of 2 KB", newData(steps));
    },
  },
  "agentos/growth-of-forks": {
    ours: "a fork repeats the whole state of its source",
    title: "takes few bytes for 50 forks of a checkpoint of 200 KB",
    async checkStore(store, trial) {
      const source = checkpoint();
      source.state.scratch = { messages: Array.from({ length: 100 }, () => text(trial, added)) };
      await store.save(source);
      for (let n = 0; n < 50; n++) await store.fork(id(1), { artifacts: { n } });
      await measure(trial, "50 forks of 200 KB", newData(100));
    },
  },
  "agentos/growth-after-deletes": {
    ours: "a deleted checkpoint should give its bytes back",
    title: "takes few bytes after all of 200 steps that add 2 KB each were deleted",
    async checkStore(store, trial) {
      await converse(trial, store);
      for (let n = 0; n < steps; n++) await store.delete(id(n));
      await measure(trial, "all of 200 steps deleted");
    },
  },
});
