const heard = [];
const waiting = [];
const send = (message) => new Promise((resolve, reject) => {
    process.send(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
});
const say = (value) => send({ kind: "say", value });
const told = () => new Promise((resolve) => {
    if (heard.length > 0)
        resolve(heard.shift());
    else
        waiting.push(resolve);
});
async function run({ suite, module, target, program, input }) {
    const { default: contract } = await import(suite);
    const found = await import(module);
    const store = await found.open({ target });
    const result = await contract.definition.programs[program]({ store, input, say, told });
    await found.close?.(store);
    return result;
}
process.on("message", (message) => {
    if (message.kind === "tell") {
        const next = waiting.shift();
        if (next === undefined)
            heard.push(message.value);
        else
            next(message.value);
        return;
    }
    run(message)
        .then((value) => send({ kind: "done", value }), (error) => send({ kind: "failed", message: String(error?.stack ?? error) }))
        // Some stores keep a process alive.
        .finally(() => process.exit());
});
// The trial's process has ended.
process.on("disconnect", () => process.exit(1));
export {};
