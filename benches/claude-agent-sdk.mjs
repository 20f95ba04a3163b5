// Measures sessions of the Claude Agent SDK, beside the SDK's own store in memory: what an append costs in a short and in a long
// session, what a load costs, and what a session and its fork take on the disk. Run:
// `npm run bench -- claude-agent-sdk [--quick] [--write]`.
import { randomUUID } from "node:crypto";
import { SessionStore } from "../dist/contracts/claude-agent-sdk/index.js";
import { clock, inTurns, sized } from "./lib/measure.mjs";
import { claudeAgentSdk, inFolder, onDisk } from "./lib/peers.mjs";
import { bytes, compared, machine, print, progress, table, time, write } from "./lib/report.mjs";
import { prose } from "./lib/states.mjs";

const { InMemorySessionStore, foldSessionSummary, forkSession } = await claudeAgentSdk();
const LENGTHS = [10, sized(10_000, 500)];
const APPENDS = sized(200, 20);
/** The length of the session that is loaded and forked, in entries of 2 KB. */
const LONG = sized(25_000, 500);

const cwd = process.cwd();
const projectKey = cwd.replaceAll(/[^a-zA-Z0-9]/g, "-");

/** Two entries of 1 KB, as a turn has them. */
function turn(sessionId, seed, size = 900) {
  return ["user", "assistant"].map((type, at) => ({
    type,
    uuid: randomUUID(),
    parentUuid: null,
    sessionId,
    cwd,
    timestamp: new Date(1_700_000_000_000 + seed).toISOString(),
    message: { role: type, content: prose(size, 2 * seed + at) },
  }));
}

async function fill(store, sessionId, length, size) {
  for (let at = 0; at < length; at += 500) {
    const entries = Array.from({ length: Math.min(500, length - at) / 2 }, (_, n) => turn(sessionId, at + n, size));
    await store.append({ projectKey, sessionId }, entries.flat());
  }
}

/** The rows of the times of a call on both sides. */
const rowsOf = (work, our, their) =>
  ["wall", "loop"].map((figure) => ({
    work,
    what: figure === "wall" ? "wall time" : "event loop",
    mode: "WAL, FULL",
    peer: "the SDK's store in memory",
    ours: our[figure],
    theirs: their[figure],
    unit: time,
  }));

machine();
await inFolder(async (path) => {
  const sides = {
    ours: new SessionStore(path("sessions.db"), { foldSessionSummary }),
    memory: new InMemorySessionStore(),
  };
  const ids = Object.fromEntries(LENGTHS.map((length) => [length, randomUUID()]));
  const names = LENGTHS.flatMap((length) => Object.keys(sides).map((side) => `${side} ${length}`));
  progress("appends");
  const appended = await inTurns(
    names,
    async (name) => {
      const [side, length] = name.split(" ");
      // Every round begins with a session of this length.
      await sides[side].delete({ projectKey, sessionId: ids[length] });
      await fill(sides[side], ids[length], Number(length));
      const turns = Array.from({ length: APPENDS }, (_, seed) => turn(ids[length], seed));
      return clock(APPENDS, async () => {
        for (const entries of turns) await sides[side].append({ projectKey, sessionId: ids[length] }, entries);
      });
    },
    { rounds: sized(5, 1) },
  );
  const rows = LENGTHS.flatMap((length) => {
    const [our, their] = [appended[`ours ${length}`], appended[`memory ${length}`]];
    return rowsOf(`append of two entries of 1 KB, at ${length.toLocaleString("en")}`, our, their);
  });

  progress("loads");
  const long = randomUUID();
  await sides.ours.close();
  const file = path("long.db");
  sides.ours = new SessionStore(file, { foldSessionSummary });
  for (const store of Object.values(sides)) await fill(store, long, LONG, 1_900);
  const key = { projectKey, sessionId: long };
  const size = (await sides.ours.load(key)).reduce((sum, entry) => sum + JSON.stringify(entry).length, 0);
  const loaded = await inTurns(Object.keys(sides), async (side) => clock(1, () => sides[side].load(key)), {
    rounds: sized(3, 1),
  });
  rows.push(...rowsOf(`load of ${LONG.toLocaleString("en")} entries, ${bytes(size)}`, loaded.ours, loaded.memory));
  compared(rows);

  progress("a fork");
  await sides.ours.close();
  const forking = new SessionStore(file, { foldSessionSummary });
  const single = onDisk(file);
  const forked = await clock(1, () => forkSession(long, { sessionStore: forking, dir: cwd }));
  await forking.close();
  print();
  table(
    ["on the disk", "bytes"],
    [
      [`the session of ${bytes(size)} and its summary`, bytes(single)],
      [`a fork of it by the SDK, which takes ${time(forked.wall)}`, bytes(onDisk(file) - single)],
    ],
  );
});
write("claude-agent-sdk");
