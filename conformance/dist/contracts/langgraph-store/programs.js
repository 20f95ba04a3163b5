import { upTo } from "./helpers.js";
export const programs = {
    /** Puts items one after the other, and says the number of each that is stored. */
    async putMany({ store, say }) {
        for (let n = 0;; n++) {
            await store.put(["kill"], `${n}`, { n });
            await say(n);
        }
    },
    /** Puts batches one after the other, and says the number of each that is stored. */
    async putBatches({ store, input: { round, size }, say }) {
        for (let n = 0;; n++) {
            await store.batch(upTo(size).map((at) => ({ namespace: ["kill", `${round}`, `${n}`], key: `${at}`, value: { n } })));
            await say(n);
        }
    },
    /** Puts all given items, one after the other, when it is told to. */
    async put({ store, input, say, told }) {
        await say("ready");
        await told();
        for (const { namespace, key, value } of input)
            await store.put(namespace, key, value);
    },
    /** Puts the same number into all items of a batch, again and again. */
    async putTogether({ store, input: { times, size } }) {
        for (let n = 1; n <= times; n++)
            await store.batch(upTo(size).map((at) => ({ namespace: ["together"], key: `${at}`, value: { n } })));
    },
    /** Returns an item and the namespaces. */
    async read({ store, input: { namespace, key } }) {
        const item = await store.get(namespace, key);
        return { value: item?.value, namespaces: await store.listNamespaces() };
    },
};
