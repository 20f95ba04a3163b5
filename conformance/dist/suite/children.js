// Other processes: they can race, and be killed.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
/** A promise that others settle. It is no unhandled rejection if nobody waits for it. */
function deferred() {
    let resolve;
    let reject;
    const promise = new Promise((...both) => ([resolve, reject] = both));
    promise.catch(() => { });
    return { promise, resolve, reject };
}
/** Starts a process that runs a program. */
export function start(begin) {
    const main = fileURLToPath(new URL("child-process.js", import.meta.url));
    const child = fork(main, [], { serialization: "advanced", execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const said = [];
    const waiting = [];
    const ended = deferred();
    const result = deferred();
    let [taken, failed] = [0, undefined];
    let printed = "";
    child.stderr.on("data", (text) => (printed = (printed + text).slice(-4_000)));
    const fail = (error) => {
        failed ??= error;
        result.reject(failed);
        for (const one of waiting.splice(0))
            one.reject(failed);
    };
    child.on("message", (message) => {
        if (message.kind === "done")
            result.resolve(message.value);
        else if (message.kind === "failed")
            fail(new Error(`${begin.program} failed in another process: ${message.message}`));
        else {
            said.push(message.value);
            waiting.shift()?.resolve(said[taken++]);
        }
    });
    child.on("error", fail);
    child.on("close", (code, signal) => {
        fail(new Error(`the process of ${begin.program} has ended (${signal ?? code})${printed && `: ${printed}`}`));
        ended.resolve();
    });
    child.send({ kind: "begin", ...begin });
    return {
        next() {
            if (taken < said.length)
                return Promise.resolve(said[taken++]);
            if (failed !== undefined)
                return Promise.reject(failed);
            const one = deferred();
            waiting.push(one);
            return one.promise;
        },
        tell(value) {
            if (child.connected)
                child.send({ kind: "tell", value });
        },
        result: () => result.promise,
        async kill() {
            child.kill("SIGKILL");
            await ended.promise;
            return said;
        },
    };
}
