// Measures effects: a new one, and one whose result is stored. Beside a table of one's own, with an INSERT before the effect
// and an UPDATE after it, each synced. The table has neither a fencing token nor a renewal of the claim.
import { randomUUID } from "node:crypto";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { effects } from "forkpoint/effects";
import { inTurns, sized } from "../lib/measure.mjs";
import { measureCalls, row } from "./measuring.mjs";

const names = ["ours", "theirs"];
const count = sized(100, 5);
const KEY = "charge the card";
const receiptOf = (number) => ({ receipt: `receipt ${number}`, amount: 4_200, currency: "eur" });

const TABLE = `CREATE TABLE effect (run text, key text, idempotency_key text NOT NULL, result text, PRIMARY KEY (run, key))`;
const CLAIM = `INSERT INTO effect (run, key, idempotency_key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING idempotency_key`;
const FIND = "SELECT idempotency_key, result FROM effect WHERE run = $1 AND key = $2";
const END = "UPDATE effect SET result = $3 WHERE run = $1 AND key = $2";

/** Runs an effect with a table of one's own. `query(sql, values)` returns the first row. */
const byHand = (query) => async (run, work) => {
  const found = (await query(CLAIM, [run, KEY, randomUUID()])) ?? (await query(FIND, [run, KEY]));
  if (found.result != null) return JSON.parse(found.result);
  const result = await work({ idempotencyKey: found.idempotency_key });
  await query(END, [run, KEY, JSON.stringify(result)]);
  return result;
};

/** Each returns a function that runs an effect of a run. */
const open = {
  ours({ saver }) {
    const once = effects(saver);
    return (run, work) => once({ space: "langgraph", run }, KEY, work);
  },
  async theirs({ saver }, isServer) {
    if (isServer) {
      await saver.pool.query(TABLE);
      return byHand(async (sql, values) => (await saver.pool.query(sql, values)).rows[0]);
    }
    const { db } = saver;
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL");
    db.exec(TABLE);
    const prepared = new Map();
    return byHand((sql, values) => {
      if (!prepared.has(sql)) prepared.set(sql, db.prepare(sql));
      const statement = prepared.get(sql);
      const named = Object.fromEntries(values.map((value, at) => [at + 1, value]));
      return statement.reader ? statement.get(named) : void statement.run(named);
    });
  },
};

async function opened(database, work, [name, ...others] = names, all = {}) {
  if (name === undefined) return work(all);
  return database.inPlace(name, async ({ open: openSide }) => {
    const side = await openSide();
    try {
      const table = database.isServer ? "a table with pg" : "a table: WAL, FULL";
      const mode = name === "ours" ? side.mode() : table;
      const once = await open[name](side, database.isServer);
      return await opened(database, work, others, { ...all, [name]: { once, mode, begun: 0 } });
    } finally {
      await side.close();
    }
  });
}

function never() {
  throw new Error("the effect ran again");
}

/** The measured calls. Each gets a side, and the number of the call. */
const calls = {
  async "a new effect"(side) {
    const number = side.begun++;
    let ran = 0;
    const work = () => {
      ran += 1;
      return receiptOf(number);
    };
    deepStrictEqual(await side.once(`run-${number}`, work), receiptOf(number));
    strictEqual(ran, 1);
  },
  async "an effect that is stored"(side, number) {
    const of = (number * 7) % side.begun;
    deepStrictEqual(await side.once(`run-${of}`, never), receiptOf(of));
  },
};

export function measure(database) {
  return opened(database, async (sides) => {
    const modes = Object.fromEntries(names.map((name) => [name, sides[name].mode]));
    const rows = [];
    for (const delay of database.delays) {
      await database.setDelay(delay);
      for (const [what, call] of Object.entries(calls)) {
        const operations = Object.fromEntries(names.map((name) => [name, (number) => call(sides[name], number)]));
        const figures = await measureCalls(operations, { count });
        rows.push(row(what, "", { figures, modes }, "wall", { variant: database.variant }));
      }
    }
    if (database.isServer) rows.push(...(await roundTrips(database, sides, modes)));
    return rows;
  });
}

async function roundTrips(database, sides, modes) {
  const rows = [];
  for (const [what, call] of Object.entries(calls)) {
    let round = 0;
    const turn = async (name) => {
      await database.setDelay(0);
      await call(sides[name], round++);
      return { roundTrips: (await database.counted()).roundTrips };
    };
    const figures = await inTurns(names, turn, { rounds: sized(5, 2) });
    rows.push(row("round trips", what, { figures, modes }, "roundTrips", { unit: "figure" }));
  }
  return rows;
}
