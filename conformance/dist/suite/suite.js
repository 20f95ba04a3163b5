// Suites: what users call.
import { readFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { attempt } from "./trial.js";
import { groups as allGroups } from "./types.js";
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
/** Returns the address of the module. */
function address(module) {
    if (module instanceof URL)
        return module.href;
    if (module.startsWith("file:"))
        return module;
    // A path with a `?` in it is rarer than a module that is asked for a variant.
    const [path, ...query] = module.split("?");
    return [pathToFileURL(resolve(path)).href, ...query].join("?");
}
/** Returns the target without a password. */
const withoutPassword = (target) => target.replace(/(?<=:\/\/[^:/@]*:)[^@/]*(?=@)/, "***");
/** Returns true if this is the expectation's id, its group, or the beginning of its id with a `*` behind it. */
const names = (name, { id, group }) => name === id || name === group || (name.endsWith("*") && id.startsWith(name.slice(0, -1)));
/** Loads the store's module and finds mistakes in it. */
async function load(module, target, known) {
    const store = await import(module).catch((error) => {
        throw new TypeError(`the store's module can't be loaded: ${error.message}`, { cause: error });
    });
    if (typeof store.open !== "function")
        throw new TypeError(`${module} exports no function open({ target })`);
    if (!/\{(dir|n)\}/.test(target) && store.wipe === undefined)
        throw new TypeError(`the target needs {dir} or {n}, or ${module} must export wipe({ target }): ${target}`);
    for (const name of Object.keys(store.skip ?? {}))
        if (!known.some((one) => names(name, one)))
            throw new TypeError(`skip of ${module} names no expectation and no group: ${name}`);
    for (const name of Object.keys(store.expectFail ?? {}))
        if (!known.some(({ id }) => id === name))
            throw new TypeError(`expectFail of ${module} names no expectation: ${name}`);
    return store;
}
function choose(all, { groups, levels, only }) {
    for (const id of only ?? [])
        if (!all.some((one) => one.id === id))
            throw new TypeError(`there is no expectation ${id}`);
    return allGroups.flatMap((group) => all.filter((one) => one.group === group &&
        (groups === undefined || groups.includes(group)) &&
        (levels === undefined || levels.includes(one.level)) &&
        (only === undefined || only.includes(one.id))));
}
/** Returns why an expectation is not tried. */
const skipped = ({ skip = {} }, one) => Object.entries(skip).find(([name]) => names(name, one))?.[1];
/** Checks one expectation, and compares the outcome with what the store's module expects. */
async function judge(expectation, setting) {
    const { check: _, ...named } = expectation;
    const began = performance.now();
    const result = (status, more = {}) => ({
        ...named,
        status,
        ...more,
        ms: Math.round(performance.now() - began),
    });
    const why = skipped(setting.store, expectation);
    if (why !== undefined)
        return { result: result("skipped", { reason: why }), figures: [] };
    const reason = setting.store.expectFail?.[expectation.id];
    try {
        const figures = await attempt(expectation, setting);
        return { result: reason === undefined ? result("passed") : result("unexpected pass", { reason }), figures };
    }
    catch (error) {
        const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        const failed = reason === undefined ? result("failed", { message }) : result("expected failure", { reason, message });
        return { result: failed, figures: [], error };
    }
}
/** Makes a contract. */
export function contract(definition) {
    const { expectations, upstream } = definition;
    const suite = ({ module: given, target = "{dir}/store" }) => {
        const module = address(given);
        const setting = async ({ seed = 1, timeoutMs = 60_000 }) => {
            const store = await load(module, target, expectations);
            return { suite: definition.url, module, store, target, seed, timeoutMs };
        };
        const nameOf = ({ name }) => name ?? basename(new URL(module).pathname).replace(/\.[^.]*$/, "");
        return {
            async register({ describe, it, ...runner }, wanted = {}) {
                const set = await setting(wanted);
                // The runner of Node takes its options before the function, the others take a time after it.
                const ofNode = "run" in runner && "mock" in runner;
                describe(`${definition.contract}: ${nameOf(set.store)}`, () => {
                    for (const one of choose(expectations, wanted)) {
                        const title = `${one.level} ${one.id}: ${one.title}`;
                        const why = skipped(set.store, one);
                        const work = async () => {
                            const { result, error } = await judge(one, set);
                            if (result.status === "failed")
                                throw error;
                            if (result.status === "unexpected pass")
                                throw new Error(`began to pass, so expectFail must no longer name ${one.id} (${result.reason})`);
                        };
                        const timeout = set.timeoutMs + 10_000;
                        if (why !== undefined)
                            it.skip(`${title} (${why})`, () => { });
                        else if (ofNode)
                            it(title, { timeout }, work);
                        else
                            it(title, work, timeout);
                    }
                });
            },
            async run({ onResult, upstream: wantsUpstream = false, ...wanted } = {}) {
                const set = await setting(wanted);
                const name = nameOf(set.store);
                const ran = new Date().toISOString();
                const theirs = wantsUpstream ? await upstream?.({ module, target, name }) : undefined;
                const chosen = choose(expectations, wanted);
                const results = [];
                const figures = [];
                for (const one of chosen) {
                    const { result, figures: measured } = await judge(one, set);
                    results.push(result);
                    figures.push(...measured);
                    onResult?.(result, results.length, chosen.length);
                }
                return {
                    contract: definition.contract,
                    suite: version,
                    store: { name, ...(set.store.version === undefined ? {} : { version: set.store.version }) },
                    target: withoutPassword(target),
                    ran,
                    machine: `Node ${process.version} on ${platform()}-${arch()}`,
                    seed: set.seed,
                    ...(theirs === undefined ? {} : { upstream: theirs }),
                    results,
                    figures,
                };
            },
        };
    };
    return Object.assign(suite, { definition });
}
