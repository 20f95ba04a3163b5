// Measures calls in a database of many short threads: lists, the latest checkpoint, deletion, and many writers at once.
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { uuid6 } from "../langgraph/packages.mjs";
import { option, sized, summary } from "../lib/measure.mjs";
import { place, putsTo } from "../lib/puts.mjs";
import { filled, LENGTH, messagesOf, NEWEST, threadId, userOf } from "./filling.mjs";
import { measureCalls, modesOf, row } from "./measuring.mjs";
import { putThreads } from "./put-threads.mjs";

const THREADS = Number(option("threads") ?? sized(20_000, 300));
if (!Number.isSafeInteger(THREADS / 2) || THREADS < 300)
  throw new Error("--threads must be an even number from 300 on");
const CHECKPOINTS = (THREADS * LENGTH).toLocaleString("en");
const WRITERS = 64;
/** The most bytes of a thread. */
const BYTES = { file: 1_000, server: 1_500 };
const names = ["ours", "theirs"];

const reading = { count: sized(200, 3), near: true };
const indexing = { ...reading, most: 50_000 };
const deleting = { count: sized(100, 5) };
const writing = { count: sized(1_280, 128), concurrency: WRITERS, what: "calls a second", unit: "rate" };

/**
 * The measured calls in their order. Each gets a side and the number of the call, and checks its result. With `near`, the
 * document has the call without a delay only.
 */
const callsOf = ({ isServer }) => ({
  [`list with a filter, newest ${NEWEST} of ${CHECKPOINTS}`]: { call: listUser, ...reading, goal: 2 },
  "list with a filter, no match": { call: listNobody, ...reading, goal: 1 },
  [`list with a filter on an index, newest ${NEWEST} of ${CHECKPOINTS}`]: { call: indexed(listUser), ...indexing },
  "list with a filter on an index, no match": { call: indexed(listNobody), ...indexing },
  [`list, newest ${NEWEST} of all threads`]: { call: listNewest, ...reading, most: 5_000 },
  [`list of a thread of ${LENGTH}`]: { call: listThread, ...reading, goal: 1 },
  "getTuple, the latest": { call: getLatest, ...reading, near: false, goal: isServer ? 1 : 0.5 },
  [`deleteThread of ${LENGTH}`]: { call: deleteOldest, ...deleting, goal: isServer ? 1 : 0.33 },
  [`${WRITERS} writers to new threads`]: { call: putNew, ...writing, goal: 2 },
});

const fillOne = ({ saver }) => putThreads(saver, THREADS);

export function measure(database) {
  return filled(database, names, fillOne, async (opened) => {
    for (const name of names) {
      await checkThread(opened[name], threadId(THREADS - 1), THREADS - 1);
      // The first list of all threads builds our index of their order, once for each database.
      await listNewest(opened[name]);
    }
    opened.ours.indexed = await opened.ours.open({ metadataIndexes: ["user"] });
    // The first list with a filter on the key builds its index.
    await listUser(opened.ours.indexed, 0);
    const rows = [];
    for (const [work, options] of Object.entries(callsOf(database))) {
      rows.push(...(await measureCall(database, opened, work, options)));
    }
    for (const name of names) {
      await checkDeleted(opened[name]);
      await checkThread(opened[name], "new-0", 0);
    }
    await opened.ours.indexed.close();
    return [...rows, bytesRow(database, opened)];
  });
}

/** Measures a call with each delay. The options that are left are the goal. */
async function measureCall(database, opened, work, { call, count, concurrency, near, what = "", ...rest }) {
  const rows = [];
  for (const delay of database.delays) {
    await database.setDelay(delay);
    const operations = Object.fromEntries(names.map((name) => [name, (number) => call(opened[name], number)]));
    const figures = await measureCalls(operations, { count, concurrency });
    const all = { variant: database.variant, detail: near && delay > 0, ...rest };
    rows.push(row(work, what, { figures, modes: modesOf(opened) }, "wall", all));
  }
  return rows;
}

/** What the threads took before anything was deleted or written. */
function bytesRow({ isServer }, opened) {
  const figures = Object.fromEntries(names.map((side) => [side, { size: summary([opened[side].size]) }]));
  const most = THREADS * (isServer ? BYTES.server : BYTES.file);
  const result = { figures, modes: modesOf(opened) };
  return row(`${CHECKPOINTS} checkpoints`, "bytes", result, "size", { unit: "bytes", most });
}

async function listed(saver, config, options) {
  const found = [];
  for await (const tuple of saver.list(config, options)) found.push(tuple);
  return found;
}

/** The newest checkpoints of all threads. */
async function newest(saver, filter) {
  const found = await listed(saver, { configurable: {} }, { limit: NEWEST, filter });
  const ids = found.map(({ checkpoint }) => checkpoint.id);
  deepStrictEqual(ids, ids.toSorted().toReversed());
  return found;
}

async function listUser({ saver }, number) {
  const user = userOf(number);
  const found = await newest(saver, { user });
  strictEqual(found.length, NEWEST);
  for (const { metadata } of found) strictEqual(metadata.user, user);
}

async function listNobody({ saver }) {
  strictEqual((await newest(saver, { user: "nobody" })).length, 0);
}

/** Returns a call that lists with our index of the key. The peers have none. */
function indexed(call) {
  return ({ indexed: side, ...others }, number) => call(side ?? others, number);
}

async function listNewest({ saver }) {
  strictEqual((await newest(saver)).length, NEWEST);
}

/** The newer half of the threads is read. The older half is for deletion. */
const readThread = (number) => THREADS - 1 - ((number * 7) % (THREADS / 2));

async function listThread({ saver }, number) {
  const found = await listed(saver, place(threadId(readThread(number))));
  strictEqual(found.length, LENGTH);
}

async function getLatest({ saver }, number) {
  const { checkpoint } = await saver.getTuple(place(threadId(readThread(number))));
  strictEqual(checkpoint.channel_values.messages.length, LENGTH);
}

/** A side keeps the number of threads that it has deleted. */
async function deleteOldest(side) {
  side.deleted ??= 0;
  ok(side.deleted < THREADS / 2);
  await side.saver.deleteThread(threadId(side.deleted++));
}

async function putNew(side) {
  side.put ??= 0;
  const number = side.put++;
  await putsTo(side.saver, uuid6, `new-${number}`)({ messages: messagesOf(number) }, ["messages"]);
}

async function checkThread({ saver }, thread, number) {
  const { checkpoint } = await saver.getTuple(place(thread));
  deepStrictEqual(checkpoint.channel_values.messages, messagesOf(number));
}

async function checkDeleted({ saver, deleted }) {
  strictEqual(await saver.getTuple(place(threadId(deleted - 1))), undefined);
  strictEqual((await listed(saver, place(threadId(deleted)))).length, LENGTH);
}
