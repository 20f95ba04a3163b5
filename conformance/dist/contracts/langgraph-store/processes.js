// Other processes: races, kills, and what is read after them.
import assert from "node:assert/strict";
export const processes = [
    {
        id: "langgraph-store/kill-keeps-acknowledged",
        group: "kill",
        level: "SHOULD",
        source: "ours: a `put` that has resolved is stored",
        title: "keeps every item whose `put` has resolved before the process is killed",
        async check(trial) {
            const child = trial.child("putMany");
            await child.next();
            await trial.sleep(50 + trial.random(100));
            const said = await child.kill();
            const store = await trial.store();
            for (const n of said)
                assert.deepEqual((await store.get(["kill"], `${n}`))?.value, { n }, `item ${n}`);
        },
    },
];
