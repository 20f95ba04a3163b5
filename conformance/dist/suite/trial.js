// One run of an expectation.
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./children.js";
let trials = 0;
/** Returns a function that returns the same numbers for the same seed. */
function numbers(seed) {
    let state = seed | 0;
    return (below) => {
        state = (state + 0x6d2b79f5) | 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
    };
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** Returns the bytes of all files in a folder. */
async function bytesIn(folder) {
    const names = await readdir(folder, { recursive: true });
    const sizes = names.map(async (name) => {
        const found = await stat(join(folder, name)).catch(() => undefined);
        return found?.isFile() ? found.size : 0;
    });
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
/** Checks one expectation on an empty store. Rejects if the store does not meet it. */
export async function attempt({ id, check }, { suite, module, store: { open, close, wipe, bytes }, target: pattern, seed, timeoutMs }) {
    const folder = await mkdtemp(join(tmpdir(), "forkpoint-conformance-"));
    trials += 1;
    const number = `${process.pid}_${Date.now().toString(36)}_${trials}`;
    const target = pattern.replaceAll("{dir}", folder).replaceAll("{n}", number);
    const children = [];
    const figures = [];
    let opened;
    const shut = async () => {
        const before = opened;
        opened = undefined;
        if (before !== undefined)
            await close?.(await before);
    };
    const trial = {
        target,
        store: () => (opened ??= Promise.resolve(open({ target }))),
        async reopen() {
            await shut();
            return await trial.store();
        },
        child(program, input) {
            const child = start({ suite, module, target, program, input });
            children.push(child);
            return child;
        },
        random: numbers(seed),
        sleep,
        figure: (name, value, unit) => figures.push({ id, name, value, unit }),
        async bytes() {
            await shut();
            if (bytes !== undefined)
                return await bytes({ target });
            return target.includes(folder) ? await bytesIn(folder) : undefined;
        },
        library: (name) => createRequire(module)(name),
    };
    let timer;
    try {
        if (pattern === target)
            await wipe({ target });
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error(`took more than ${timeoutMs} ms`)), timeoutMs);
        });
        await Promise.race([check(trial), late]);
        return figures;
    }
    finally {
        clearTimeout(timer);
        await Promise.all(children.map((child) => child.kill()));
        // What a store says when it is closed is no part of the expectation, and some never answer after a fault.
        await Promise.race([shut(), sleep(5_000)]).catch(() => { });
        if (pattern !== target)
            await Promise.resolve(wipe?.({ target })).catch(() => { });
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
}
