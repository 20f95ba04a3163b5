// The main file of other processes: runs one program of a suite on a store.
import type { StoreModule } from "./types.js";
import type { FromChild, FromTrial } from "./children.js";

const heard: unknown[] = [];
const waiting: Array<(value: unknown) => void> = [];

const send = (message: FromChild) =>
  new Promise<void>((resolve, reject) => {
    process.send!(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });

const say = (value: unknown) => send({ kind: "say", value });

const told = () =>
  new Promise((resolve) => {
    if (heard.length > 0) resolve(heard.shift());
    else waiting.push(resolve);
  });

async function run({ suite, module, target, program, input }: Extract<FromTrial, { kind: "begin" }>) {
  const { default: contract } = await import(suite);
  const found: StoreModule = await import(module);
  const store = await found.open({ target });
  const result = await contract.definition.programs[program]({ store, input, say, told });
  await found.close?.(store);
  return result;
}

process.on("message", (message: FromTrial) => {
  if (message.kind === "tell") {
    const next = waiting.shift();
    if (next === undefined) heard.push(message.value);
    else next(message.value);
    return;
  }
  run(message)
    .then(
      (value) => send({ kind: "done", value }),
      (error: Error) => send({ kind: "failed", message: String(error?.stack ?? error) }),
    )
    // Some stores keep a process alive.
    .finally(() => process.exit());
});
// The trial's process has ended.
process.on("disconnect", () => process.exit(1));
