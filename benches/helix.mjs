// Measures Helix sessions: what a step costs, what a long session takes on disk, and whether an append gets slower as
// the session grows. Run: `npm run bench -- helix [--quick] [--write]`.
import { SessionStore, generateCheckpointId } from "../dist/contracts/helix/index.js";
import { clock, inTurns, quick, sized } from "./lib/measure.mjs";
import { betterSqlite, inFolder, mode, onDisk, settle } from "./lib/peers.mjs";
import { bytes, compared, machine, print, progress, spread, table, time, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";

const STEPS = sized(300, 60);
const LENGTHS = [10, sized(10_000, 1_000)];
const APPENDS = sized(200, 40);

const message = (seed) => ({ role: seed % 2 === 0 ? "user" : "assistant", content: prose(970, seed + 1) });

/** A session whose steps append two messages of 1 KB each and store a checkpoint with all messages. */
async function ours(file) {
  const store = new SessionStore(file);
  await store.createSession("session", { agentType: "bench", initialState: { topic: "storage", step: 0 } });
  const messages = [];
  return {
    mode: "WAL, FULL",
    async step(stepCount) {
      const added = [message(stepCount * 2), message(stepCount * 2 + 1)];
      messages.push(...added);
      await store.appendMessages("session", added);
      const state = { status: "active", stepCount, customState: { topic: "storage", step: stepCount }, messages };
      const id = generateCheckpointId("session", stepCount);
      await store.saveCheckpoint({
        id,
        sessionId: "session",
        stepCount,
        timestamp: 1_700_000_000_000 + stepCount,
        state,
        messageCount: messages.length,
        streamSequence: stepCount,
      });
    },
    close: () => store.close(),
  };
}

/** The same with better-sqlite3: each checkpoint is a row with a full copy of the state. */
async function copies(file) {
  const db = await betterSqlite(file, {
    schema: `CREATE TABLE message (session TEXT, pos INTEGER, body TEXT, PRIMARY KEY (session, pos)) WITHOUT ROWID;
             CREATE TABLE checkpoint (id TEXT PRIMARY KEY, session TEXT, at INTEGER, body TEXT);
             CREATE INDEX by_session ON checkpoint (session, at)`,
  });
  const append = db.prepare("INSERT INTO message VALUES (?, ?, ?)");
  const save = db.prepare("INSERT INTO checkpoint VALUES (?, ?, ?, ?)");
  const messages = [];
  return {
    mode: mode(db),
    async step(stepCount) {
      const added = [message(stepCount * 2), message(stepCount * 2 + 1)];
      db.transaction(() => {
        for (const [at, one] of added.entries()) append.run("session", messages.length + at, JSON.stringify(one));
      })();
      messages.push(...added);
      const state = { status: "active", stepCount, customState: { topic: "storage", step: stepCount }, messages };
      const checkpoint = { state, messageCount: messages.length, streamSequence: stepCount };
      save.run(generateCheckpointId("session", stepCount), "session", stepCount, JSON.stringify(checkpoint));
    },
    close: async () => db.close(),
  };
}

/** One session of `STEPS` steps. The last tenth is measured by itself: what a step costs at the end. */
function session(open) {
  return inFolder(async (path) => {
    const file = path("helix.db");
    const side = await open(file);
    const steps = async (from, to) => {
      for (let step = from; step < to; step++) await side.step(step);
    };
    const tail = Math.round(STEPS * 0.9);
    const first = await clock(tail, () => steps(0, tail));
    const last = await clock(STEPS - tail, () => steps(tail, STEPS));
    await side.close();
    settle(file);
    const wall = (first.wall * tail + last.wall * (STEPS - tail)) / STEPS;
    return { disk: onDisk(file), wall, last: last.wall, loop: last.loop };
  });
}

machine();
progress(`${STEPS} steps`);
const kinds = { forkpoint: ours, "full copies": copies };
const turns = await inTurns(Object.keys(kinds), (name) => session(kinds[name]), { rounds: sized(3, 1), warm: !quick });
const figures = {
  disk: ["bytes on disk", bytes],
  wall: ["a step", time],
  last: ["wall time one of the last steps", time],
  loop: ["event loop one of the last steps", time],
};
compared(
  Object.entries(figures).map(([figure, [what, unit]]) => {
    const [ours, theirs] = [turns["forkpoint"][figure], turns["full copies"][figure]];
    const work = `${STEPS} steps of two messages of 1 KB`;
    return { work, what, mode: "WAL, FULL", peer: "full copies, better-sqlite3: WAL, FULL", ours, theirs, unit };
  }),
);

progress("appends");
const lengths = await inFolder(async (path) => {
  const store = new SessionStore(path("appends.db"));
  for (const length of LENGTHS) {
    await store.createSession(`${length}`, { agentType: "bench" });
    await store.appendMessages(
      `${length}`,
      Array.from({ length }, (_, at) => message(at)),
    );
  }
  // Each turn appends to its session and cuts the session back, so that every turn begins with the same length.
  const turn = async (name) => {
    const appended = await clock(APPENDS, async () => {
      for (let at = 0; at < APPENDS; at++) await store.appendMessages(name, [message(at)]);
    });
    await store.truncateMessages(name, Number(name));
    return appended;
  };
  const found = await inTurns(LENGTHS.map(String), turn, { rounds: sized(5, 2) });
  await store.close();
  return found;
});
print();
table(
  ["an append of 1 KB to a session of", "wall time", "event loop"],
  LENGTHS.map((length) => [
    `${length.toLocaleString("en")} messages`,
    spread(lengths[length].wall, time),
    spread(lengths[length].loop, time),
  ]),
);
write("helix");
