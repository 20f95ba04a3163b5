// A second import from LangGraph's PostgresSaver.
import "./setup.js";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { describe } from "vitest";
import { type Old, importAgain } from "../langgraph/import-again.js";
import { poolOf } from "./databases.js";

async function makeOld(): Promise<Old> {
  const saver = new PostgresSaver(poolOf());
  await saver.setup();
  return {
    saver: saver as never,
    importInto: (target, options) => target.importPostgresSaver(saver as never, options),
  };
}

describe("from PostgresSaver", () => importAgain(["memory", "sqlite", "postgres"], makeOld));
