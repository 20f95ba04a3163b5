export const programs = {
    /** Puts items one after the other, and says the number of each that is stored. */
    async putMany({ store, say }) {
        for (let n = 0;; n++) {
            await store.put(["kill"], `${n}`, { n });
            await say(n);
        }
    },
};
