// A second import from LangGraph's PostgresSaver.
import "./setup.js";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { describe, onTestFinished } from "vitest";
import { type Old, importAgain } from "../langgraph/import-again.js";
import { makeDatabase } from "./databases.js";

async function makeOld(): Promise<Old> {
  const pool = new pg.Pool({ connectionString: makeDatabase() });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  const saver = new PostgresSaver(pool);
  await saver.setup();
  return {
    saver: saver as never,
    importInto: (target, options) => target.importPostgresSaver(saver as never, options),
  };
}

describe("from PostgresSaver", () => importAgain(["memory", "sqlite", "postgres"], makeOld));
