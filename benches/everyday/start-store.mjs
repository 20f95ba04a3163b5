// Like start.mjs, for the store of another contract: `node start-store.mjs <contract> <file>`.
import { messagesOf } from "./filling.mjs";

const SAVES = 4;
const [name, file] = process.argv.slice(2);
const { contract } = await import(`./contracts/${name}.mjs`);
const { module, className, save, calls } = contract;
const run = `run-${Date.now()}`;
const messages = messagesOf(0, SAVES);

const begin = performance.now();
const { [className]: Store } = await import(`forkpoint/${module}`);
const imported = performance.now();
const store = new Store(file);
for (let step = 1; step <= SAVES; step++) {
  await save(store, { run, number: 0, step, messages: messages.slice(0, step) });
}
const found = [
  await calls.latest.call(store, run),
  await calls.load.call(store, run, SAVES - 1),
  await calls.list.call(store, run),
];
await store.close();
const end = performance.now();

if (found.map(({ length }) => length).join() !== [SAVES, SAVES - 1, SAVES].join())
  throw new Error("the reads have other states");
console.log(JSON.stringify({ imported: (imported - begin) * 1_000, whole: (end - begin) * 1_000 }));
