// Measures chats of the AI SDK, beside the file store of the SDK's page, which writes all messages at each save.
// Run: `npm run bench -- ai [--quick] [--write]`.
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { openStore } from "../dist/index.js";
import { ForkpointChats } from "../dist/contracts/ai/index.js";
import { clock, inTurns, sized } from "./lib/measure.mjs";
import { inFolder, onDisk } from "./lib/peers.mjs";
import { bytes, compared, machine, print, progress, table, time, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";

const LENGTHS = [5, sized(500, 50)];
const TURNS = sized(100, 10);

const user = (n) => ({ id: `u${n}`, role: "user", parts: [{ type: "text", text: prose(500, 2 * n) }] });
const assistant = (n, ...texts) => ({
  id: `a${n}`,
  role: "assistant",
  parts: texts.flatMap((text) => [{ type: "step-start" }, { type: "text", text, state: "done" }]),
});
const turns = (count) =>
  Array.from({ length: count }, (_, n) => [user(n), assistant(n, prose(1_500, 2 * n + 1))]).flat();

/** The store of the SDK's page. */
class FileChats {
  constructor(path) {
    this.path = path;
  }
  file = (id) => this.path(`${id}.json`);
  async saveChat({ id, messages }) {
    await writeFile(this.file(id), JSON.stringify(messages, null, 2));
  }
  async loadChat(id) {
    return existsSync(this.file(id)) ? JSON.parse(readFileSync(this.file(id), "utf8")) : [];
  }
}

/** The messages as a route gets them: new objects in each request. */
const received = (messages) => JSON.parse(JSON.stringify(messages));

function row(work, what, of, name, part = "wall") {
  const [ours, theirs] = [of[name("ours")][part], of[name("file")][part]];
  return { work, what, mode: "WAL, FULL", peer: "the page's file", ours, theirs, unit: time };
}

machine();
await inFolder(async (path) => {
  const store = await openStore(path("agent.db"));
  const sides = { ours: new ForkpointChats(store), file: new FileChats(path) };
  const names = Object.keys(sides);
  progress("turns");
  let made = 0;
  const saved = await inTurns(
    LENGTHS.flatMap((length) => names.map((side) => `${side} ${length}`)),
    async (name) => {
      const [side, length] = name.split(" ");
      const chats = sides[side];
      const id = `${side}-${(made += 1)}`;
      // A chat of this length that gets the same question again and again, so that its length stays.
      const before = turns(Number(length) - 1);
      await chats.saveChat({ id, messages: before });
      const bodies = Array.from({ length: TURNS }, (_, n) => received([...before, user(1_000 + n)]));
      return clock(TURNS, async () => {
        for (const messages of bodies) await chats.saveChat({ id, messages });
      });
    },
    { rounds: sized(7, 1) },
  );
  const rows = LENGTHS.flatMap((length) => [
    row(`a save at turn ${length}`, "wall time", saved, (side) => `${side} ${length}`),
    row(`a save at turn ${length}`, "event loop", saved, (side) => `${side} ${length}`, "loop"),
  ]);
  progress("reads");
  const long = turns(LENGTHS[1]);
  for (const side of names) await sides[side].saveChat({ id: `long-${side}`, messages: long });
  const read = await inTurns(names, (side) => clock(1, () => sides[side].loadChat(`long-${side}`)), {
    rounds: sized(9, 1),
  });
  rows.push(row(`a read of ${long.length.toLocaleString("en")} messages`, "wall time", read, (side) => side));
  compared(rows);
  const [short, far] = LENGTHS.map((length) => saved[`ours ${length}`].loop.median);
  print();
  print(
    `A save at turn ${LENGTHS[1]} costs the event loop ${(far / short).toFixed(2)} times what it costs at turn ${LENGTHS[0]} (goal: at most 4).`,
  );
  await store.close();

  progress("sizes");
  const sizes = [];
  const measure = async (what, file, lists, text) => {
    const chats = new ForkpointChats(path(file));
    const other = new FileChats(path);
    let written = 0;
    for (const messages of lists) {
      await chats.saveChat({ id: file, messages });
      await other.saveChat({ id: file, messages });
      written += onDisk(other.file(file));
    }
    await chats.close();
    sizes.push([what, bytes(text), bytes(onDisk(path(file))), bytes(onDisk(other.file(file))), bytes(written)]);
  };
  const whole = turns(sized(500, 50));
  const lists = whole.map((_, at) => whole.slice(0, at + 1));
  await measure(`${sized(500, 50)} turns of 2 KB, all versions`, "turns.db", lists, whole.length * 1_000);
  const parts = Array.from({ length: sized(100, 10) }, (_, n) => prose(2_000, n));
  const steps = parts.map((_, at) => [user(0), assistant(0, ...parts.slice(0, at + 1))]);
  await measure(`an answer of ${parts.length} steps of 2 KB, all versions`, "steps.db", steps, parts.length * 2_000);
  print();
  table(["chat", "its text", "Forkpoint, on disk", "the file", "written to it"], sizes);
});
write("ai");
