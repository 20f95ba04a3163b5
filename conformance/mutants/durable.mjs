// Makes an in-memory store durable and shared between processes: each change is a record in a file, and every process applies
// the records of all. It is the reference that suites must pass, so it is simple and slow. Faults are for mutants.
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { deserialize, serialize } from "node:v8";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns true if the process exists. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the number of the process that has a lock. It may have given it back just now. */
function ownerOf(path) {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return 0;
    throw error;
  }
}

/** Removes the lock of a killed process. One process at a time does so: another one's new lock must stay. */
function removeDead(own, path) {
  const guard = `${path}.guard`;
  try {
    linkSync(own, guard);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!isAlive(ownerOf(guard) || process.pid)) rmSync(guard, { force: true });
    return;
  }
  const pid = ownerOf(path);
  if (pid > 0 && !isAlive(pid)) rmSync(path, { force: true });
  rmSync(guard, { force: true });
}

/** Takes a lock that other processes take too. Returns a function that gives it back. */
async function lock(path) {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, `${process.pid}`);
  for (;;) {
    try {
      // A link appears with its text: a process that is killed leaves no lock without a name.
      linkSync(own, path);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      // Its process may have been killed.
      const pid = ownerOf(path);
      if (pid > 0 && !isAlive(pid)) removeDead(own, path);
      await sleep(1);
    }
  }
}

/**
 * Returns a store whose methods are those of the store that `make` returns.
 *
 * `make(now)` makes an empty store in memory. It must take the time from `now()`, and do the same for the same calls.
 * `changes` are the names of the methods that change something. `encode` and `decode` turn their arguments into values that can
 * be cloned, and back.
 *
 * The faults:
 * - `lateMs`: a change is in the file only after this time, but is acknowledged at once.
 * - `isDeaf`: what others have saved is seen only when the store is opened.
 * - `unlockedMs`: changes take no lock, and others can change something in this time.
 * - `tornMs`: the record of a change is written in two halves, with this time between them, and half a record is applied: see `half`.
 * - `half(method, args)`: returns the arguments of which a half record consists.
 * - `forgets(method, args)`: true for changes that are not in the file.
 */
export function durable(make, target, changes, { encode = (args) => args, decode = (args) => args, faults = {} } = {}) {
  mkdirSync(dirname(target), { recursive: true });
  let time = 0;
  const store = make(() => time || Date.now());
  const { lateMs = 0, isDeaf = false, unlockedMs = 0, tornMs = 0, half, forgets = () => false } = faults;
  let at = 0;
  let [hasRead, queue] = [false, Promise.resolve()];

  /** Applies what has been added to the file. Cuts off half a record, which a killed process has left. */
  async function catchUp(file) {
    if (isDeaf && hasRead) return;
    hasRead = true;
    const begin = at;
    const added = Buffer.alloc(Math.max(0, fstatSync(file).size - begin));
    const all = begin + readSync(file, added, 0, added.length, begin);
    while (at + 4 <= all) {
      const end = at + 4 + added.readUInt32LE(at - begin);
      if (end > all) break;
      const { method, args, now } = deserialize(added.subarray(at + 4 - begin, end - begin));
      time = now;
      await Promise.resolve(store[method](...decode(args, method))).catch(() => {});
      time = 0;
      at = end;
    }
    if (at < all) ftruncateSync(file, at);
  }

  /** Adds a record to the file. */
  async function append(file, method, args, now) {
    const bytes = serialize({ method, args, now });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    at += writeSync(file, Buffer.concat([length, bytes]));
    fsyncSync(file);
  }

  async function call(method, args) {
    const unlock = unlockedMs === 0 ? await lock(`${target}.lock`) : () => {};
    const file = openSync(target, "a+");
    let isLate = false;
    try {
      await catchUp(file);
      if (!changes.includes(method)) return await store[method](...args);
      const now = Date.now();
      const encoded = await encode(args, method);
      time = now;
      const result = await store[method](...args);
      time = 0;
      if (unlockedMs > 0) await sleep(unlockedMs);
      if (forgets(method, args)) return result;
      if (lateMs > 0) {
        isLate = true;
        setTimeout(() => append(file, method, encoded, now).then(() => closeSync(file)), lateMs);
      } else if (tornMs > 0) {
        const before = at;
        await append(file, method, await encode(half(method, args), method), now);
        await sleep(tornMs);
        ftruncateSync(file, before);
        at = before;
        await append(file, method, encoded, now);
      } else {
        await append(file, method, encoded, now);
      }
      return result;
    } finally {
      time = 0;
      if (!isLate) closeSync(file);
      unlock();
    }
  }

  /** Calls of one process run one after the other. */
  function enqueue(method, args) {
    const result = queue.then(() => call(method, args));
    queue = result.catch(() => {});
    return result;
  }
  return new Proxy(store, {
    get(_, name) {
      if (typeof store[name] !== "function") return store[name];
      return (...args) => enqueue(name, args);
    },
  });
}
