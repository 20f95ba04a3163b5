// Measures sessions and states of runs of the OpenAI Agents SDK, beside the SDK's session in memory and a session in a JSON file, which is
// read and written whole at each turn, as in the SDK's example. Run: `npm run bench -- openai-agents [--quick] [--write]`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { openStore } from "../dist/index.js";
import { ForkpointRunStates, ForkpointSession } from "../dist/contracts/openai-agents/index.js";
import { clock, inTurns, sized } from "./lib/measure.mjs";
import { inFolder, onDisk, openaiAgents } from "./lib/peers.mjs";
import { bytes, compared, machine, print, progress, table, time, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";

const { MemorySession } = await openaiAgents();
const LENGTHS = [10, sized(10_000, 500)];
const TURNS = sized(200, 20);

/** The message of a user and the answer, of 1 KB each. */
const turn = (seed) => [
  { type: "message", role: "user", content: prose(900, 2 * seed) },
  {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: prose(900, 2 * seed + 1) }],
  },
];

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];

/** The state of a run that has had so many approvals. */
const text = (n) =>
  JSON.stringify({
    $schemaVersion: "1.22",
    items: Array.from({ length: 20 + 2 * n }, (_, at) => turn(at)).flat(),
    currentStep: { type: "next_step_interruption" },
  });

class FileSession {
  constructor(file) {
    this.file = file;
  }
  async getItems() {
    return existsSync(this.file) ? JSON.parse(readFileSync(this.file, "utf8")) : [];
  }
  async addItems(items) {
    writeFileSync(this.file, JSON.stringify([...(await this.getItems()), ...items]));
  }
}

machine();
await inFolder(async (path) => {
  const file = path("agent.db");
  const store = await openStore(file);
  const make = {
    ours: (name) => new ForkpointSession(store, { sessionId: name }),
    memory: () => new MemorySession(),
    file: (name) => new FileSession(path(`${name}.json`)),
  };
  const sides = Object.keys(make);
  progress("turns");
  let made = 0;
  const long = {};
  const added = await inTurns(
    LENGTHS.flatMap((length) => sides.map((side) => `${side} ${length}`)),
    async (name) => {
      const [side, length] = name.split(" ");
      const session = make[side](`${made++}`);
      await session.addItems(Array.from({ length: Number(length) / 2 }, (_, at) => turn(at)).flat());
      const turns = Array.from({ length: TURNS }, (_, at) => turn(100_000 + at));
      if (Number(length) === LENGTHS[1]) long[side] = session;
      return clock(TURNS, async () => {
        for (const items of turns) await session.addItems(items);
      });
    },
    { rounds: sized(5, 1) },
  );
  const peers = { memory: "MemorySession", file: "a JSON file" };
  const rowsOf = (work, what, of, name, part = "wall") =>
    Object.entries(peers).map(([side, peer]) => {
      const [ours, theirs] = [of[name("ours")][part], of[name(side)][part]];
      return { work, what, mode: "WAL, FULL", peer, ours, theirs, unit: time };
    });
  const rows = LENGTHS.flatMap((length) => {
    const work = `a turn of two items of 1 KB, at ${length.toLocaleString("en")}`;
    const name = (side) => `${side} ${length}`;
    const loop = length === LENGTHS[1] ? rowsOf(work, "event loop", added, name, "loop") : [];
    return [...rowsOf(work, "wall time", added, name), ...loop];
  });

  progress("reads");
  const read = await inTurns(sides, (side) => clock(1, () => long[side].getItems()), { rounds: sized(5, 1) });
  const total = (await long.ours.getItems()).length;
  rows.push(...rowsOf(`a read of ${total.toLocaleString("en")} items`, "wall time", read, (side) => side));
  compared(rows);

  progress("forks");
  const forks = sized(100, 5);
  const whole = await clock(forks, async () => {
    for (let n = 0; n < forks; n++) await long.ours.fork(`fork-${n}`, LENGTHS[1] - n);
  });
  const rewound = await clock(1, () => long.ours.rewind(10));
  await store.vacuum();
  await store.close();
  progress("sizes");
  const sizes = [];
  for (const length of [1_000, 2_000, 4_000].map((each) => sized(each, each / 10))) {
    const one = path(`${length}.db`);
    const session = new ForkpointSession(one, { sessionId: "s" });
    const other = new FileSession(path(`${length}.json`));
    let written = 0;
    for (let at = 0; at < length / 2; at++) {
      await session.addItems(turn(at));
      await other.addItems(turn(at));
      written += onDisk(other.file);
    }
    await session.close();
    sizes.push([length.toLocaleString("en"), bytes(onDisk(one)), bytes(onDisk(other.file)), bytes(written)]);
  }
  print();
  table(["items", "Forkpoint, on disk", "the JSON file", "written to it"], sizes);

  progress("states");
  const states = new ForkpointRunStates(path("states.db"));
  const texts = Array.from({ length: sized(50, 5) }, (_, n) => text(n));
  const [saves, takes] = [[], []];
  for (const each of texts) {
    saves.push((await clock(1, () => states.save("r", each))).wall);
    takes.push((await clock(1, () => states.take("r"))).wall);
  }
  const raw = texts.reduce((sum, each) => sum + each.length, 0);
  await states.close();
  print();
  table(
    ["", "Forkpoint"],
    [
      [`a fork of ${LENGTHS[1].toLocaleString("en")} items`, time(whole.wall)],
      [`a rewind to 10 of ${total.toLocaleString("en")} items, of which the forks have most`, time(rewound.wall)],
      [`a save of a run's state, up to ${bytes(texts.at(-1).length)}`, time(median(saves))],
      ["a take of it", time(median(takes))],
      [`${texts.length} states, together ${bytes(raw)}, on disk`, bytes(onDisk(path("states.db")))],
    ],
  );
});
write("openai-agents");
