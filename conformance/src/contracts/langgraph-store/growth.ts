// How many bytes are stored. Figures only.
import { expectations } from "../../suite/expectations.js";
import { measure, textOf } from "../../suite/growth.js";
import type { Trial } from "../../suite/types.js";
import { upTo } from "./helpers.js";
import type { Store } from "./store.js";

const source = "memories are kept for years, so their size on the disk matters";

const words =
  "the agent asked which city the user likes best and wrote down what it heard about trips food friends work".split(
    " ",
  );

const text = (trial: Trial<Store>, length: number) => textOf(words, trial, length);

export const growth = expectations<Store>("growth", {
  "langgraph-store/growth-of-items": {
    ours: source,
    title: "takes few bytes for 1,000 items of 1 KB",
    async checkStore(store, trial) {
      for (const hundred of upTo(10))
        await store.batch(
          upTo(100).map((n) => ({
            namespace: ["users", `${n % 20}`],
            key: `${hundred}-${n}`,
            value: { text: text(trial, 1_000) },
          })),
        );
      await measure(trial, "1,000 items of 1 KB");
    },
  },
  "langgraph-store/growth-of-updates": {
    ours: source,
    title: "takes few bytes for 200 updates of one item of 10 KB",
    async checkStore(store, trial) {
      const value = { notes: upTo(10).map(() => text(trial, 1_000)), visits: 0 };
      for (const n of upTo(200)) {
        value.visits = n;
        value.notes[n % 10] = text(trial, 1_000);
        await store.put(["users", "7"], "profile", value);
      }
      await measure(trial, "200 updates of an item of 10 KB");
    },
  },
});
