/**
 * Builds database files that an attacker could send: each begins as a real database, and is then changed with SQLite's own
 * tool. A file is small, and asks for much more time or memory than it has bytes.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { Checkpointer } from "forkpoint/tinyagents";
import { fill } from "./contents.js";
import { checkpoint } from "./helpers.js";

// The types come from the sources. The code comes from the build, because the sources are CommonJS.
const require = createRequire(import.meta.url);
const { agentos } =
  require("../dist/inner/contracts/agentos/wire.js") as typeof import("../ts/contracts/agentos/wire.js");
const { engineOf, openInBackground } = require("../dist/inner/store/store.js") as typeof import("../ts/store/store.js");

const MIB = 2 ** 20;

/** The names of the files, and how each is built. The last word of a builder is the path of the file. */
export const hostileFiles: Record<string, (path: string) => Promise<void>> = {};

const define = (name: string, build: (path: string) => Promise<void> | void): void => {
  hostileFiles[name] = async (path) => build(path);
};

/** Changes a database with SQLite's own tool. */
function sql(path: string, statements: string): void {
  execFileSync("sqlite3", ["-bail", path], { input: statements, stdio: ["pipe", "ignore", "inherit"] });
}

let begin: Buffer | undefined;

/** Makes a file with the data of every framework: a copy of the first one. */
async function filled(path: string): Promise<void> {
  if (begin !== undefined) return writeFileSync(path, begin, { mode: 0o600 });
  const store = await openStore(path);
  await fill(store);
  await store.close();
  begin = readFileSync(path);
}

/** A file with the data of every framework, changed by SQL. */
const changed = (statements: string) => async (path: string) => {
  await filled(path);
  sql(path, statements);
};

const hex = (bytes: Uint8Array): string => `x'${Buffer.from(bytes).toString("hex")}'`;

// The schema ------------------------------------------------------------------------------------------------------------------------

const columns: Record<string, string[]> = {
  lineage: ["lin", "contract", "name", "grp", "age_offset", "origin", "origin_lin", "sum"],
  checkpoint: [
    "seq",
    "lin",
    "id_hash",
    "saved_at",
    "flags",
    "chain",
    "sum",
    "id",
    "parent",
    "grp",
    "label",
    "sort_key",
    "meta",
    "logs",
    "body",
  ],
  write: ["num", "contract", "id", "task", "sum", "claimed", "claim_sum", "body"],
  log: ["log", "lin", "name", "branch", "length", "sum"],
};

for (const [table, names] of Object.entries(columns)) {
  const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT ${names.map((name) => `i AS ${name}`).join(", ")} FROM n`;
  define(
    `a view without an end in place of the table ${table}`,
    changed(`DROP TABLE ${table}; CREATE VIEW ${table} AS ${endless};`),
  );
}
for (const table of ["checkpoint", "write"]) {
  const others = columns[table]!.filter((name) => name !== "body");
  define(
    `a generated column of a gigabyte in the table ${table}`,
    changed(`CREATE TABLE other (${others.join(", ")}, body AS (zeroblob(1000000000)));
      INSERT INTO other SELECT ${others.join(", ")} FROM ${table}; DROP TABLE ${table}; ALTER TABLE other RENAME TO ${table};`),
  );
}
define(
  "a trigger without an end",
  changed(`CREATE TRIGGER added AFTER INSERT ON checkpoint BEGIN
    SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END;`),
);
define("a table of another program", changed("CREATE TABLE mine (a); CREATE INDEX of_mine ON mine (a);"));
define("an index on an expression", changed("CREATE INDEX expensive ON checkpoint (hex(zeroblob(1000) || body));"));
define(
  "an index with another definition",
  changed("DROP INDEX checkpoint_id; CREATE INDEX checkpoint_id ON checkpoint (id_hash + 0);"),
);
define(
  "a virtual table",
  changed(`.dbconfig defensive off
    PRAGMA writable_schema = ON;
    INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING fts5(a)');`),
);

// Payloads --------------------------------------------------------------------------------------------------------------------------

function leb128(value: number): number[] {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) + 0x80);
  return [...bytes, value];
}

/** A zstd frame with a window of 128 KiB: some bytes, and then one byte again and again. */
function zstd(begin: Uint8Array, byte: number, repeated: number, end: Uint8Array = Buffer.of()): Buffer {
  const header = (type: number, size: number, isLast: boolean) => {
    const bits = size * 8 + type * 2 + (isLast ? 1 : 0);
    return [bits % 256, Math.floor(bits / 256) % 256, Math.floor(bits / 65_536)];
  };
  const out: number[] = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 * 8];
  out.push(...header(0, begin.length, false), ...begin);
  for (let left = repeated; left > 0; left -= 2 ** 17) out.push(...header(1, Math.min(left, 2 ** 17), false), byte);
  out.push(...header(0, end.length, true), ...end);
  return Buffer.from(out);
}

/** An envelope (docs/internals/format.md) whose content is a zstd frame. `lengths` is what it claims. */
const envelope = (format: number, checksum: Uint8Array, lengths: number[], frame: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(format), checksum, Buffer.from(lengths.flatMap(leb128)), frame]);

const noChecksum = new Uint8Array(8);
const gigabyte = envelope(2, noChecksum, [2 ** 30], zstd(Buffer.of(), 0, 2 ** 30));

define("a checkpoint of a gigabyte in 33 KB", changed(`UPDATE checkpoint SET body = ${hex(gigabyte)};`));
define("a pending write of a gigabyte in 33 KB", changed(`UPDATE write SET body = ${hex(gigabyte)};`));
define("a message of a gigabyte in 33 KB", changed(`UPDATE record SET body = ${hex(gigabyte)};`));
define(
  "a checkpoint of a gigabyte that claims 1 MiB",
  changed(`UPDATE checkpoint SET body = ${hex(envelope(2, noChecksum, [MIB], zstd(Buffer.of(), 0, 2 ** 30)))};`),
);
define(
  "a checkpoint of 60 MiB of empty parts",
  changed(
    `UPDATE checkpoint SET body = ${hex(envelope(2, noChecksum, [60 * MIB], zstd(Buffer.from(leb128(20 * MIB)), 0, 60 * MIB - 4)))} WHERE seq < 6;`,
  ),
);
define("a metadata column of 100 MiB", changed("UPDATE checkpoint SET meta = zeroblob(104857600) WHERE seq = 3;"));

/** Saves checkpoints of one run of AgentOS with any bytes and ids, which the public methods would refuse. */
async function saved(
  path: string,
  checkpoints: Array<{ id: string; parent?: string; tag?: string; state: Uint8Array }>,
  runId = "run-1",
): Promise<void> {
  const store = openInBackground(path, { durability: "off" });
  const { native } = engineOf(store);
  const rest = Buffer.from('{"visitedNodes":[],"pendingEdges":[],"nodeResults":{}}');
  for (const [timestamp, { id, parent, tag = "json", state }] of checkpoints.entries()) {
    const names = { id, runId, graphId: "graph", nodeId: "node", timestamp, savedAt: timestamp, parent };
    const tags = { stateTag: tag, restTag: "json", mark: undefined, expectedNewest: undefined };
    const fields = { ...names, ...tags, hasMemorySnapshot: false, status: "unknown" as const };
    await agentos.call(native, "save", fields, [state, rest]);
  }
  await store.close();
}

/** A state of 60 MiB: the number 1 after spaces. */
const LENGTH = 60 * MIB;
const text = (value: string): number[] => [...leb128(value.length), ...Buffer.from(value)];

const largeState = (() => {
  const rest = Buffer.from("1{}");
  const describe = (length: number) =>
    Buffer.from([2, ...text("state"), ...text("json"), ...leb128(length), ...text("rest"), ...text("json"), 2]);
  const begin = describe(LENGTH);
  const spaces = LENGTH - begin.length - rest.length;
  return { begin: describe(spaces + 1), spaces, end: rest, length: LENGTH };
})();
/** XXH3-64 of the 60 MiB. */
const LARGE_CHECKSUM = Buffer.from("12a4f3beaea1117f", "hex");

define("200 deltas of 60 MiB", async (path) => {
  const noise = Array.from({ length: 4_000 }, (_, n) => Math.imul(n + 1, 2_654_435_761).toString(36)).join(" ");
  const states = Array.from({ length: 201 }, (_, n) => ({
    id: `c${n}`,
    state: Buffer.from(JSON.stringify({ n, noise })),
  }));
  await saved(path, states);
  const { begin, spaces, end, length } = largeState;
  const keyframe = envelope(2, LARGE_CHECKSUM, [length], zstd(begin, 0x20, spaces, end));
  // One step: all bytes but the last kilobyte are literal, and those are copied.
  const literal = length - 1_024;
  const step = Buffer.from([1, ...leb128(literal), ...leb128(literal), ...leb128(1_024)]);
  const content = zstd(Buffer.concat([step, begin]), 0x20, literal - begin.length);
  const delta = envelope(4, LARGE_CHECKSUM, [length, step.length + literal], content);
  sql(
    path,
    `UPDATE checkpoint SET body = CASE WHEN substr(chain, 1, 8) = zeroblob(8) THEN ${hex(keyframe)} ELSE ${hex(delta)} END;`,
  );
});

define("deltas in a circle", async (path) => {
  await saved(path, [
    { id: "a", state: Buffer.from("1") },
    { id: "b", state: Buffer.from("2") },
  ]);
  // Each names the other one as its base.
  const base = (seq: number) => `CAST(${hex(Buffer.of(seq, 0, 0, 0, 0, 0, 0, 0))} || substr(chain, 9) AS BLOB)`;
  sql(
    path,
    `UPDATE checkpoint SET chain = ${base(2)} WHERE seq = 1; UPDATE checkpoint SET chain = ${base(1)} WHERE seq = 2;`,
  );
});
define("parents in a circle", (path) =>
  saved(path, [
    { id: "a", parent: "b", state: Buffer.from('{"n":1}') },
    { id: "b", parent: "a", state: Buffer.from('{"n":2}') },
  ]),
);

// Values ----------------------------------------------------------------------------------------------------------------------------

const deep = (levels: number, inner: string): Buffer => Buffer.from("[".repeat(levels) + inner + "]".repeat(levels));

define("JSON with a million levels", (path) =>
  saved(path, [
    { id: "a", state: deep(1_000_000, "") },
    { id: "b", state: deep(1_000_000, "1") },
  ]),
);
define("JSON with 400,000 texts in 1,400 levels", (path) =>
  saved(path, [
    { id: "a", state: deep(1_400, Array(400_000).fill('"a text"').join(",")) },
    { id: "b", state: deep(1_400, Array(400_000).fill('"another"').join(",")) },
  ]),
);
define("a BigInt of 16 MiB", async (path) => {
  const store = new CheckpointStore(path, { durability: "off" });
  for (const big of [1n << BigInt(16 * 8 * MIB), 1n << BigInt(16 * 8 * MIB + 1)]) {
    await store.save(checkpoint({ runId: "run-1", state: { ...checkpoint().state, scratch: { big } } }));
  }
  await store.close();
});
define("300 BigInts of 60 KiB", async (path) => {
  const store = new CheckpointStore(path, { durability: "off" });
  const many = Array.from({ length: 300 }, (_, n) => (1n << BigInt(60 * 8 * 1_024)) + BigInt(n));
  await store.save(checkpoint({ runId: "run-1", state: { ...checkpoint().state, scratch: { many } } }));
  await store.close();
});
define("a BigInt of 4 MiB in JSON text", (path) =>
  saved(path, [
    { id: "a", tag: "json-form", state: Buffer.from(`{"$type":"BigInt","value":"${"7".repeat(10_000_000)}"}`) },
  ]),
);
define("a text of 20 MiB of control characters", async (path) => {
  const store = new CheckpointStore(path, { durability: "off" });
  for (const letter of ["\u0001", "\u0002"]) {
    const scratch = { text: letter.repeat(20 * MIB) };
    await store.save(checkpoint({ runId: "run-1", state: { ...checkpoint().state, scratch } }));
  }
  await store.close();
});
define("metadata of 16 MiB", async (path) => {
  const store = new Checkpointer(path, { durability: "off" });
  const metadata = { text: "\u001b".repeat(16 * MIB) };
  await store.put({ threadId: "run-1", state: { n: 1 }, metadata } as never);
  await store.close();
});
for (const column of ["id", "parent", "label", "grp"]) {
  const long = `printf('%.*c', ${8 * MIB}, 'a')`;
  define(
    `a text of 8 MiB in the column ${column}`,
    changed(`UPDATE checkpoint SET ${column} = ${long} WHERE seq < 5;`),
  );
}
define("a name of 8 MiB", changed(`UPDATE lineage SET name = printf('%.*c', ${8 * MIB}, 'a') WHERE lin = 1;`));

// The file --------------------------------------------------------------------------------------------------------------------------

for (const bytes of [1, 99, 511, 4_096, 20_000]) {
  define(`a file that ends after ${bytes} bytes`, async (path) => {
    await filled(path);
    writeFileSync(path, readFileSync(path).subarray(0, bytes));
  });
}

/** Pages of a table whose 200 children are all the next page. A scan of 18 of them would take 200 ** 18 steps. */
for (const table of ["checkpoint", "lineage", "sqlite_schema"]) {
  define(`a table ${table} whose pages lead to the same page`, async (path) => {
    await saved(path, [{ id: "a", state: Buffer.from("1") }]);
    const read = `SELECT rootpage FROM sqlite_schema WHERE name = '${table}'`;
    const root = Number(execFileSync("sqlite3", [path, read], { encoding: "utf8" }) || 1);
    const file = readFileSync(path);
    const [size, pages] = [file.readUInt16BE(16), file.readUInt32BE(28)];
    // The first page begins with the header of the file.
    const begin = root === 1 ? 100 : 0;
    const leaf = Buffer.from(file.subarray((root - 1) * size, root * size));
    leaf.copyWithin(0, begin, begin + 8 + 2 * leaf.readUInt16BE(begin + 3));
    const interior = (child: number, start = 0): Buffer => {
      const page = Buffer.alloc(size);
      page.writeUInt8(5, start);
      page.writeUInt16BE(200, start + 3);
      page.writeUInt32BE(child, start + 8);
      for (let cell = 0; cell < 200; cell++) {
        const at = size - 5 * (cell + 1);
        page.writeUInt16BE(at, start + 12 + 2 * cell);
        page.writeUInt32BE(child, at);
        page.writeUInt8(1 + (cell % 100), at + 4);
      }
      page.writeUInt16BE(size - 1_000, start + 5);
      return page;
    };
    interior(pages + 1, begin).copy(file, (root - 1) * size + begin, begin);
    const more = Array.from({ length: 17 }, (_, n) => interior(pages + n + 2));
    file.writeUInt32BE(pages + more.length + 1, 28);
    writeFileSync(path, Buffer.concat([file, ...more, leaf]));
  });
}

/** The fields of SQLite's header (https://sqlite.org/fileformat.html), and what is written there. */
const header: Array<[field: string, offset: number, bytes: number[]]> = [
  ["magic", 0, [0x52]],
  ["page size of 512", 16, [2, 0]],
  ["page size of 64 KiB", 16, [0, 1]],
  ["page size of 3", 16, [0, 3]],
  ["write version", 18, [9]],
  ["read version", 19, [9]],
  ["reserved bytes", 20, [255]],
  ["payload fraction", 21, [255]],
  ["number of pages", 28, [0x7f, 255, 255, 255]],
  ["first free page", 32, [0, 0, 0, 2]],
  ["number of free pages", 36, [0x7f, 255, 255, 255]],
  ["schema format", 44, [0, 0, 0, 9]],
  ["encoding of UTF-16", 56, [0, 0, 0, 3]],
  ["user version", 60, [0x7f, 255, 255, 255]],
  ["application id", 68, [0]],
  ["kind of the first page", 100, [0]],
  ["cells of the first page", 103, [255, 255]],
  ["content of the first page", 105, [255, 255]],
  ["first cell of the first page", 108, [0, 8]],
];
for (const [field, offset, bytes] of header) {
  define(`a header with another ${field}`, async (path) => {
    await filled(path);
    const file = readFileSync(path);
    file.set(bytes, offset);
    writeFileSync(path, file);
  });
}

/** Builds one of the files in a folder. Returns its path. */
export async function build(name: string, folder: string): Promise<string> {
  const path = join(folder, "hostile.db");
  await hostileFiles[name]!(path);
  return path;
}
