/** Checkpointers of others, for the tests of `importFrom` and `exportTo`. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { onTestFinished } from "vitest";
import { folder } from "./helpers.js";

/** A kind of checkpointer. */
export interface OtherSaver {
  name: string;
  /** Makes an empty one for the running test. */
  make(): Promise<BaseCheckpointSaver> | BaseCheckpointSaver;
}

const peers = new URL("../peers/package.json", import.meta.url);
const require = createRequire(peers);
const isInstalled = (path: string) => existsSync(fileURLToPath(new URL(`node_modules/${path}`, peers)));

/** Gives a saver the serializer of the LangGraph that these tests use. The saver has a copy of LangGraph of its own. */
function withSerde<T extends BaseCheckpointSaver>(saver: T): T {
  saver.serde = new MemorySaver().serde;
  return saver;
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

export const redisSaver = (shallow = false): OtherSaver => ({
  name: shallow ? "ShallowRedisSaver" : "RedisSaver",
  async make() {
    const { RedisSaver } = require("@langchain/langgraph-checkpoint-redis");
    const { ShallowRedisSaver } = require("@langchain/langgraph-checkpoint-redis/shallow");
    const saver = await (shallow ? ShallowRedisSaver : RedisSaver).fromUrl(redisUrl);
    await saver.client.flushAll();
    await saver.ensureIndexes();
    onTestFinished(() => saver.end());
    return withSerde(saver);
  },
});

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

export const hasRedis = redisUrl !== undefined && isInstalled("@langchain/langgraph-checkpoint-redis");

/** The checkpointers that can be tested here. */
export const otherSavers: readonly OtherSaver[] = [
  memorySaver,
  ...(isInstalled("better-sqlite3/build/Release") ? [sqliteSaver] : []),
  ...(hasRedis ? [redisSaver()] : []),
  ...(mongodbUrl !== undefined && isInstalled("@langchain/langgraph-checkpoint-mongodb") ? [mongodbSaver] : []),
];
