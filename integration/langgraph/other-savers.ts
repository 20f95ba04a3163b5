/** Checkpointers of others, for the tests of `importFrom` and `exportTo`. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BaseCheckpointSaver, MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { onTestFinished } from "vitest";
import { folder } from "./helpers.js";

/** A kind of checkpointer. */
export interface OtherSaver {
  name: string;
  /** The threads of `fill` that it cannot hold. */
  loses?: readonly string[];
  /** Makes an empty one for the running test. */
  make(): Promise<BaseCheckpointSaver> | BaseCheckpointSaver;
}

const peers = new URL("../peers/package.json", import.meta.url);
const require = createRequire(peers);
const isInstalled = (path: string) => existsSync(fileURLToPath(new URL(`node_modules/${path}`, peers)));

/** Gives a saver the serializer of the LangGraph that these tests use. The saver has a copy of LangGraph of its own. */
export function withSerde<T extends BaseCheckpointSaver>(saver: T): T {
  saver.serde = new MemorySaver().serde;
  return saver;
}

/** A serializer that writes other bytes each time. Metadata is not changed: PostgresSaver stores it as JSON. */
export function salted(): SerializerProtocol {
  const { serde } = new MemorySaver();
  return {
    async dumpsTyped(value) {
      const [type, bytes] = await serde.dumpsTyped(value);
      if (Object.hasOwn(Object(value), "source")) return [type, bytes];
      return [`salted ${type}`, new Uint8Array(Buffer.concat([randomBytes(12), bytes]))];
    },
    async loadsTyped(type, data) {
      const [, plain] = /^salted (.*)/.exec(type) ?? [];
      if (plain === undefined) return serde.loadsTyped(type, data);
      return serde.loadsTyped(plain, new Uint8Array(Buffer.from(data as Uint8Array).subarray(12)));
    },
  };
}

const memorySaver: OtherSaver = { name: "MemorySaver", make: () => new MemorySaver() };

/** Needs the packages of the benchmarks: `npm run bench -- langgraph --quick` installs them. */
const sqliteSaver: OtherSaver = {
  name: "SqliteSaver",
  make() {
    const { SqliteSaver } = require("@langchain/langgraph-checkpoint-sqlite");
    const saver = SqliteSaver.fromConnString(join(folder(), "other.db"));
    onTestFinished(() => saver.db.close());
    return withSerde(saver);
  },
};

/** A Redis 8 or Redis Stack for these tests only: it is emptied. */
const redisUrl = process.env["FORKPOINT_TEST_REDIS_URL"];

const redisSaver: OtherSaver = {
  name: "RedisSaver",
  // It writes the snapshot of a delta channel as a plain object.
  loses: ["deltas"],
  async make() {
    const saver = await plainRedisSaver();
    const list = saver.list.bind(saver);
    // For tests that compare lists: it lists 10 checkpoints unless it gets a limit, and returns a Send as a plain object.
    saver.list = async function* all(config, options) {
      const { serde } = saver;
      const read = async (value: unknown) => serde.loadsTyped(...(await serde.dumpsTyped(value)));
      for await (const tuple of list(config, { limit: 100_000, ...options })) {
        const { checkpoint, pendingWrites = [] } = tuple;
        const writes = pendingWrites.map(async ([task, channel, value]) => [task, channel, await read(value)] as const);
        yield { ...tuple, checkpoint: await read(checkpoint), pendingWrites: (await Promise.all(writes)) as never };
      }
    };
    return saver;
  },
};

/** A saver that keeps only the newest checkpoint of each namespace. */
export async function shallowRedisSaver(): Promise<BaseCheckpointSaver> {
  const { ShallowRedisSaver } = require("@langchain/langgraph-checkpoint-redis/shallow");
  return emptied(await ShallowRedisSaver.fromUrl(redisUrl));
}

/** A RedisSaver as it is. */
export async function plainRedisSaver(): Promise<BaseCheckpointSaver> {
  const { RedisSaver } = require("@langchain/langgraph-checkpoint-redis");
  return emptied(await RedisSaver.fromUrl(redisUrl));
}

async function emptied(saver: any): Promise<any> {
  await saver.client.flushAll();
  await saver.ensureIndexes();
  onTestFinished(() => saver.end());
  return withSerde(saver);
}

/** A MongoDB server for these tests only. */
const mongodbUrl = process.env["FORKPOINT_TEST_MONGODB_URL"];

const mongodbSaver: OtherSaver = {
  name: "MongoDBSaver",
  async make() {
    const { MongoDBSaver } = require("@langchain/langgraph-checkpoint-mongodb");
    const { MongoClient } = createRequire(require.resolve("@langchain/langgraph-checkpoint-mongodb"))("mongodb");
    const client = await new MongoClient(mongodbUrl).connect();
    const dbName = `forkpoint_test_${Date.now()}_${Math.trunc(Math.random() * 1e9)}`;
    onTestFinished(async () => {
      await client.db(dbName).dropDatabase();
      await client.close();
    });
    const saver = new MongoDBSaver({ client, dbName });
    await saver.setup();
    return withSerde(saver);
  },
};

/** The checkpointers that need no server. */
export const otherSavers: readonly OtherSaver[] = [
  memorySaver,
  ...(isInstalled("better-sqlite3/build/Release") ? [sqliteSaver] : []),
];

/** The checkpointers whose servers were given. */
export const serverSavers: readonly OtherSaver[] = [
  ...(redisUrl !== undefined && isInstalled("@langchain/langgraph-checkpoint-redis") ? [redisSaver] : []),
  ...(mongodbUrl !== undefined && isInstalled("@langchain/langgraph-checkpoint-mongodb") ? [mongodbSaver] : []),
];
