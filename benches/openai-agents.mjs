// Measures sessions and states of runs of the OpenAI Agents SDK, beside the SDK's session in memory and a session in a JSON file, which is
// read and written whole at each turn, as in the SDK's example. Run: `npm run bench -- openai-agents [--quick] [--write]`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { openStore } from "../dist/index.js";
import { ForkpointRunStates, ForkpointSession } from "../dist/contracts/openai-agents/index.js";
import { clock, inTurns, sized } from "./lib/measure.mjs";
import { inFolder, onDisk, openaiAgents } from "./lib/peers.mjs";
import { bytes, machine, print, progress, spread, table, time, times, write } from "./lib/report.mjs";
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
  const row = (what, of, name) => [
    what,
    ...sides.map((side) => spread(of[name(side)].wall, time)),
    ...sides.slice(1).map((side) => times(of[name("ours")].wall, of[name(side)].wall)),
  ];
  const rows = LENGTHS.map((length) =>
    row(`a turn of two items of 1 KB, at ${length.toLocaleString("en")}`, added, (side) => `${side} ${length}`),
  );
  rows.push([
    "the same at 10,000: event loop".replace("10,000", LENGTHS[1].toLocaleString("en")),
    ...sides.map((side) => spread(added[`${side} ${LENGTHS[1]}`].loop, time)),
    ...sides.slice(1).map((side) => times(added[`ours ${LENGTHS[1]}`].loop, added[`${side} ${LENGTHS[1]}`].loop)),
  ]);

  progress("reads");
  const read = await inTurns(sides, (side) => clock(1, () => long[side].getItems()), { rounds: sized(5, 1) });
  const total = (await long.ours.getItems()).length;
  rows.push(row(`all ${total.toLocaleString("en")} items`, read, (side) => side));
  table(["work", "forkpoint: WAL, FULL", "MemorySession", "a JSON file", "to memory", "to the file"], rows);

  progress("forks");
  const forks = sized(100, 5);
  const whole = await clock(forks, async () => {
    for (let n = 0; n < forks; n++) await long.ours.fork(`fork-${n}`, LENGTHS[1] - n);
  });
  const rewound = await clock(1, () => long.ours.rewind(10));
  await store.vacuum();
  print();
  table(
    ["work", "time"],
    [
      [`a fork of ${LENGTHS[1].toLocaleString("en")} items`, time(whole.wall)],
      [`a rewind to 10 of ${total.toLocaleString("en")} items, of which the forks have most`, time(rewound.wall)],
    ],
  );

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
  table(["items", "forkpoint, on the disk", "the JSON file", "bytes that were written to it"], sizes);

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
    ["a run with an approval at each step, and all items in its state", ""],
    [
      [`a save of a state, up to ${bytes(texts.at(-1).length)}`, time(median(saves))],
      ["a take", time(median(takes))],
      [`${texts.length} states, together ${bytes(raw)}, on the disk`, bytes(onDisk(path("states.db")))],
    ],
  );
});
print(
  "\nThe ratios say how many times less time Forkpoint takes: below 1 it loses. MemorySession keeps nothing when its process ends. The file is not synced, and loses items if two processes write it.",
);
write("openai-agents");
